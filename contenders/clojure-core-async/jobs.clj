(ns jobs
  "The background jobs: a go block for each of the W places takes them from a channel. The heart beats in the main
  thread."
  (:gen-class)
  (:require [clojure.core.async :refer [<! >! >!! alts!! chan close! go-loop thread timeout]]
            [protocol :refer [await-line modulus print-line report report-phase]]
            [settings :as settings]))

(def ^:const factor 48271)
(def ^:const beat-ms 10)

(defn- first-number [seed job]
  (inc (mod (+ seed job) (dec modulus))))

(defn- compute ^long [^long x ^long rounds]
  (loop [x x, round rounds]
    (if (pos? round)
      (recur (rem (* factor x) modulus) (dec round))
      x)))

(defn- worker [place jobs answers {:keys [kind duration rounds seed]}]
  (go-loop []
    (when-let [job (<! jobs)]
      (let [begin-ns (System/nanoTime)
            x (first-number seed job)]
        (when (= kind "sleep") (<! (timeout duration)))
        ;; A long computation would keep a thread from all other go blocks.
        (let [value (if (= kind "cpu") (<! (thread (compute x rounds))) (compute x 1))]
          (>! answers {:job job :value value :place place :begin-ns begin-ns :end-ns (System/nanoTime)})))
      (recur))))

(defn- beat [heart]
  (let [now-ns (System/nanoTime)]
    (-> heart
        (update :gap-ns max (- now-ns (:last-ns heart)))
        (assoc :last-ns now-ns :due (timeout beat-ms)))))

(defn- beat-until
  "Takes from the channel, and beats meanwhile: what came, and the heart."
  [heart channel]
  (let [[value from] (alts!! [channel (:due heart)])]
    (if (= from channel)
      [value heart]
      (recur (update (beat heart) :beats inc) channel))))

(defn- gather
  "All answers, in the order of the jobs, and the heart."
  [heart answers ^objects gathered]
  (loop [heart heart, missing (alength gathered)]
    (if (zero? missing)
      (beat heart)
      (let [[answer heart] (beat-until heart answers)]
        (aset gathered (:job answer) answer)
        (recur heart (dec missing))))))

(defn- in-background [{:keys [count workers trace?] :as options} {:keys [order beats]} hold?]
  (let [start-ns (System/nanoTime)
        jobs (chan count)
        answers (chan)
        gathered (object-array count)]
    (dotimes [place workers] (worker place jobs answers options))
    (dotimes [job count] (>!! jobs job))
    (close! jobs)
    (let [submitted-ns (System/nanoTime)
          heart {:beats 0 :gap-ns 0 :last-ns submitted-ns :due (timeout beat-ms)}
          _ (report-phase "submit" (- submitted-ns start-ns))
          heart (if hold?
                  (do (report "::await name=submitted")
                      (second (beat-until heart (thread (await-line) true))))
                  heart)
          heart (gather heart answers gathered)]
      (report-phase "makespan" (- (:last-ns heart) start-ns))
      (report-phase "gap" (:gap-ns heart))
      (when trace?
        (doseq [{:keys [place begin-ns end-ns]} gathered]
          (print-line (str "::span unit=" place " begin=" (- begin-ns start-ns) " end=" (- end-ns start-ns)))))
      {:beats (+ beats (:beats heart))
       :order (reduce (fn [order {:keys [value]}] (mod (+ (* 31 order) value) modulus)) order gathered)})))

(defn- alone
  "Each begins with the answer of the one before."
  [{:keys [kind rounds seed]}]
  (loop [x (first-number seed 0), times (if (= kind "cpu") 5 0)]
    (if (pos? times)
      (let [start-ns (System/nanoTime)
            answer (compute x rounds)]
        (report-phase "alone" (- (System/nanoTime) start-ns))
        (recur answer (dec times)))
      x)))

(defn -main [& arguments]
  (let [settings (settings/parse arguments)
        options {:count (settings/whole-number settings "jobs" 1 1000000)
                 :kind (settings/needed settings "kind" ["sleep" "cpu" "noop"])
                 :duration (settings/whole-number settings "duration_ms" 0 3600000 1000)
                 :rounds (settings/whole-number settings "rounds" 1 settings/most 1000000)
                 :workers (settings/whole-number settings "workers" 1 1024)
                 :seed (settings/whole-number settings "seed" 0 4294967295 0)
                 :trace? (settings/flag settings "trace")}
        hold? (settings/flag settings "hold")
        repeats (settings/repeats settings)]
    (settings/cores settings)
    (let [last-alone (alone options)
          {:keys [order beats]} (reduce (fn [sums i] (in-background options sums (and hold? (zero? i))))
                                        {:order 0 :beats 0} (range repeats))]
      (report "::result answers=" (* repeats (:count options)) " order=" order " beats=" beats " alone=" last-alone))
    (System/exit 0)))
