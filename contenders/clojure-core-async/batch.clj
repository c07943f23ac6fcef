(ns batch
  "The batch: a thread reads, a pipeline computes, the main thread writes."
  (:gen-class)
  (:require [clojure.core.async :refer [<!! >!! chan close! pipeline thread]]
            [protocol :refer [print-line report report-phase]]
            [settings :as settings])
  (:import (java.io BufferedReader FileReader IOException RandomAccessFile)
           (java.nio.charset StandardCharsets)
           (java.util Arrays)))

(set! *warn-on-reflection* true)

(def own-capacity 100)
(def most-size 1000000)
(def largest 100000)

(defn- fault [& parts]
  (throw (ex-info (apply str parts) {:fault true})))

(defn- whole-number [text what most]
  (let [number (when text (parse-long text))]
    (if (and number (<= 0 number most))
      number
      (fault what " must be a whole number from 0 to " most))))

(defn- check-end
  "Lines of a reader do not show that the last one has no newline."
  [^String path]
  (with-open [file (RandomAccessFile. path "r")]
    (let [length (.length file)]
      (when (pos? length) (.seek file (dec length)))
      (when-not (= (.read file) (int \newline))
        (fault "its last line is cut off")))))

(defn- read-case [^BufferedReader reader number]
  {:number number
   :size (whole-number (.readLine reader) (str "case " number ": a size") most-size)
   :first (or (.readLine reader) (fault "case " number " is cut off"))
   :second (or (.readLine reader) (fault "case " number " is cut off"))})

(defn- read-all
  "Puts the cases into the channel; returns how many there are, and what it took."
  [^String path cases]
  (check-end path)
  (with-open [reader (BufferedReader. (FileReader. path StandardCharsets/ISO_8859_1) 65536)]
    (let [start-ns (System/nanoTime)
          count (whole-number (.readLine reader) "the number of cases" Integer/MAX_VALUE)]
      (loop [number 1, wait-ns 0]
        (if (<= number count)
          (let [case (read-case reader number)
                waiting-ns (System/nanoTime)]
            (>!! cases case)
            (recur (inc number) (+ wait-ns (- (System/nanoTime) waiting-ns))))
          (do
            (when (.readLine reader) (fault "it goes on after case " count ", the last"))
            {:count count :read-ns (- (System/nanoTime) start-ns wait-ns) :wait-ns wait-ns}))))))

(defn- sorted ^ints [number size ^String text]
  (let [words (if (.isEmpty text) (make-array String 0) (.split text " " -1))
        ^"[Ljava.lang.String;" words words]
    (when-not (= (alength words) size)
      (fault "case " number ": a vector has " (alength words) " numbers instead of " size))
    (let [numbers (int-array size)]
      (dotimes [i size]
        (let [value (Integer/parseInt (aget words i))]
          (when-not (<= (- largest) value largest)
            (fault "case " number ": numbers must be from -" largest " to " largest))
          (aset numbers i value)))
      (Arrays/sort numbers)
      numbers)))

(defn- smallest-product [{:keys [number size first second]}]
  (let [upwards (sorted number size first)
        downwards (sorted number size second)
        size (long size)]
    (loop [i 0, product 0]
      (if (< i size)
        (recur (inc i) (+ product (* (long (aget upwards i)) (long (aget downwards (- size 1 i))))))
        product))))

(defn- solve [case]
  (let [start-ns (System/nanoTime)]
    (try
      {:product (smallest-product case) :compute-ns (- (System/nanoTime) start-ns)}
      (catch NumberFormatException _ {:fault (str "case " (:number case) ": numbers must be whole")})
      (catch clojure.lang.ExceptionInfo fault {:fault (ex-message fault)}))))

(defn- refuse [fault]
  (.println System/err (str "input: " fault))
  (System/exit 2))

(defn- write-all
  "Writes the answers, which the pipeline keeps in order."
  [answers]
  (let [start-ns (System/nanoTime)]
    (loop [number 1, compute-ns 0, wait-ns 0]
      (let [waiting-ns (System/nanoTime)
            answer (<!! answers)
            wait-ns (+ wait-ns (- (System/nanoTime) waiting-ns))]
        (cond
          (nil? answer) {:compute-ns compute-ns :wait-ns wait-ns :write-ns (- (System/nanoTime) start-ns wait-ns)}
          (:fault answer) (refuse (:fault answer))
          :else (do
                  (print-line (str "Case #" number ": " (:product answer)))
                  (recur (inc number) (+ compute-ns (long (:compute-ns answer))) wait-ns)))))))

(defn- once
  "Returns how many cases there are."
  [path cores capacity]
  (let [start-ns (System/nanoTime)
        cases (chan)
        answers (chan capacity)
        reader (thread
                 (try (read-all path cases)
                      (catch IOException broken {:fault (ex-message broken)})
                      (catch clojure.lang.ExceptionInfo fault {:fault (ex-message fault)})
                      (finally (close! cases))))]
    (pipeline cores answers (map solve) cases)
    (let [written (write-all answers)
          read (<!! reader)]
      (some-> (:fault read) refuse)
      (report-phase "work" (- (System/nanoTime) start-ns))
      (report-phase "read" (:read-ns read))
      (report-phase "compute" (:compute-ns written))
      (report-phase "write" (:write-ns written))
      (report-phase "wait_ahead" (:wait-ns read))
      (report-phase "wait_empty" (:wait-ns written))
      (:count read))))

(defn -main [& arguments]
  (let [settings (settings/parse arguments)
        cores (settings/cores settings)
        capacity (settings/one-of settings "capacity" ["own" "0" "1" "100" "10000"])
        places (case capacity "own" own-capacity "0" nil (parse-long capacity))
        repeats (settings/repeats settings)
        path (settings/text settings "input")]
    (when (empty? path) (settings/refuse settings "input" "the path of a file"))
    (report "::result cases=" (reduce + (repeatedly repeats #(once path cores places))))
    (System/exit 0)))
