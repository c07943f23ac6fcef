(ns sleepers
  "The sleepers: a go block for each, and a channel to the main thread, which collects."
  (:gen-class)
  (:require [clojure.core.async :refer [<! <!! >! chan go go-loop timeout]]
            [protocol :refer [await-line modulus report report-phase]]
            [settings :as settings])
  (:import (java.util Arrays)
           (java.util.concurrent CountDownLatch)))

(def ^:const factor 48271)
(def ^:const second-ns 1000000000)
(def ^:const reports 10)

(defn- sleep
  "Hands over the task's number, and how late it woke."
  [number due-ns ^CountDownLatch asleep wakes]
  (go
    (.countDown asleep)
    (loop []
      (let [late-ns (- (System/nanoTime) due-ns)]
        (if (neg? late-ns)
          (do (<! (timeout (quot (+ (- late-ns) 999999) 1000000)))
              (recur))
          (>! wakes [number late-ns]))))))

(defn- start [tasks seconds seed begin-ns wakes]
  (let [asleep (CountDownLatch. tasks)
        last-second-ns (* (dec seconds) second-ns)]
    (reduce (fn [x _]
              (let [number (rem (* factor x) modulus)
                    due-ns (+ begin-ns last-second-ns (quot (* number second-ns) modulus))]
                (sleep number due-ns asleep wakes)
                number))
            (inc (rem seed (dec modulus))) (range tasks))
    (.await asleep)
    (report-phase "start" (- (System/nanoTime) begin-ns))))

(defn- percentile
  "The smallest lateness that so many percent do not exceed."
  [^longs sorted percent]
  (aget sorted (dec (quot (+ (* (alength sorted) percent) 99) 100))))

(defn- collect [tasks begin-ns wakes]
  (let [numbers (long-array tasks)
        late-ns (long-array tasks)
        reports (min reports tasks)]
    (dotimes [i tasks]
      (let [[number late] (<!! wakes)]
        (aset numbers i (long number))
        (aset late-ns i (long late))
        (when (> (quot (* (inc i) reports) tasks) (quot (* i reports) tasks))
          (report-phase "wake" (- (System/nanoTime) begin-ns)))))
    (Arrays/sort numbers)
    (Arrays/sort late-ns)
    (report "::result sum=" (reduce + numbers)
            " order=" (reduce (fn [order number] (rem (+ (* 31 order) number) modulus)) 0 numbers)
            " late_p50_ns=" (percentile late-ns 50) " late_p99_ns=" (percentile late-ns 99)
            " late_max_ns=" (percentile late-ns 100))))

(defn -main [& arguments]
  (let [settings (settings/parse arguments)
        tasks (settings/whole-number settings "tasks" 1 1000000)
        seconds (settings/whole-number settings "seconds" 2 3600)
        seed (settings/whole-number settings "seed" 0 4294967295 0)
        hold? (settings/flag settings "hold")
        _ (settings/cores settings)
        begin-ns (System/nanoTime)
        wakes (chan tasks)]
    (start tasks seconds seed begin-ns wakes)
    (when hold?
      (report "::await name=started")
      (await-line))
    (collect tasks begin-ns wakes)
    (System/exit 0)))
