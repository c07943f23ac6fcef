(ns accounts
  "The accounts: a ref for each, a go block for each unit and each auditor, and a transaction for each transfer."
  (:gen-class)
  (:require [clojure.core.async :refer [<! <!! >! >!! chan close! go-loop]]
            [clojure.string :as string]
            [protocol :refer [await-line modulus report report-phase]]
            [settings :as settings])
  (:import (java.util Arrays)
           (java.util.concurrent.atomic AtomicLong)))

(def ^:const factor 48271)
(def ^:const opening-balance 1000)
;; A unit reads the clock before and after one of so many transfers.
(def ^:const timed 16)

(defn- transfer [accounts source target amount]
  (dosync
   (alter (nth accounts source) - amount)
   (alter (nth accounts target) + amount)))

(defn- total [accounts]
  (dosync (reduce (fn [sum account] (+ sum @account)) 0 accounts)))

(defn- draw ^long [^long x]
  (rem (* factor x) modulus))

(defn- audit
  "Adds up all accounts for each unit that asks. A channel of what the auditor saw."
  [accounts ^AtomicLong counted questions]
  (go-loop [seen {:audits 0 :wrong 0 :first 0 :last 0}]
    (if-let [answer (<! questions)]
      (let [sum (total accounts)
            now (.get counted)]
        (>! answer sum)
        (recur (cond-> (-> seen (update :audits inc) (assoc :last now))
                 (zero? (:audits seen)) (assoc :first now)
                 (not= sum (* opening-balance (count accounts))) (update :wrong inc))))
      seen)))

(defn- step
  "One transfer, by the number that the unit drew before. The last that it drew now."
  [accounts hot x made ^longs transfer-ns]
  (let [x1 (draw x)
        x2 (draw x1)
        x3 (draw x2)
        source (if (< (rem (quot x1 1000) 100) (long hot)) 0 (rem x2 (count accounts)))
        other (rem x3 (dec (count accounts)))
        target (if (>= other source) (inc other) other)
        amount (inc (rem x1 1000))]
    (if (zero? (rem made timed))
      (let [begin (System/nanoTime)]
        (transfer accounts source target amount)
        (aset transfer-ns (quot made timed) (- (System/nanoTime) begin)))
      (transfer accounts source target amount))
    x3))

(defn- work
  "A unit makes its transfers. After every so many of them it waits for an audit. A channel of what it has done."
  [unit {:keys [transfers every hot seed]} accounts ^AtomicLong counted auditors]
  (let [transfer-ns (long-array (quot (+ transfers timed -1) timed))
        audit-ns (long-array (quot transfers every))
        answer (chan)]
    (go-loop [made 0, x (inc (rem (+ seed unit) (dec modulus)))]
      (if (< made transfers)
        (let [x (step accounts hot x made transfer-ns)
              made (inc made)]
          (when (zero? (rem made every))
            (.addAndGet counted every)
            (let [turn (dec (quot made every))
                  begin (System/nanoTime)]
              (>! (nth auditors (rem (+ unit turn) (count auditors))) answer)
              (<! answer)
              (aset audit-ns turn (- (System/nanoTime) begin))))
          (recur made x))
        {:made made :transfer-ns transfer-ns :audit-ns audit-ns}))))

(defn- percentiles
  "The smallest times that so many percent do not exceed; 0 where there is none."
  [name arrays]
  (let [^longs sorted (long-array (mapcat seq arrays))
        number (alength sorted)]
    (Arrays/sort sorted)
    (string/join " " (for [[level percent] [["p50" 50] ["p99" 99] ["max" 100]]]
                       (str name "_" level "_ns="
                            (if (zero? number) 0 (aget sorted (dec (quot (+ (* number percent) 99) 100)))))))))

(defn- once [problem hold?]
  (let [accounts (vec (repeatedly (:accounts problem) #(ref opening-balance)))]
    (when hold?
      (report "::await name=opened")
      (await-line))
    (let [begin (System/nanoTime)
          counted (AtomicLong.)
          auditors (vec (repeatedly (:auditors problem) chan))
          auditing (mapv #(audit accounts counted %) auditors)
          worked (mapv <!! (mapv #(work % problem accounts counted auditors) (range (:units problem))))]
      (run! close! auditors)
      (let [seen (mapv <!! auditing)]
        (report-phase "transfer" (- (System/nanoTime) begin))
        {:balances (mapv deref accounts) :worked worked :seen seen}))))

(defn- report-result [folded results]
  (let [{:keys [worked seen]} (peek results)
        total (fn [part key] (reduce + (for [result results, each (part result)] (key each))))]
    (report "::result balances=" folded
            " transfers=" (total :worked :made)
            " audits=" (total :seen :audits)
            " wrong=" (total :seen :wrong)
            " first=" (string/join "," (map :first seen))
            " last=" (string/join "," (map :last seen))
            " " (percentiles "transfer" (map :transfer-ns worked))
            " " (percentiles "audit" (map :audit-ns worked)))))

(defn -main [& arguments]
  (let [settings (settings/parse arguments)
        problem {:accounts (settings/whole-number settings "accounts" 2 100000)
                 :units (settings/whole-number settings "units" 1 10000)
                 :transfers (settings/whole-number settings "transfers" 1 1000000)
                 :auditors (settings/whole-number settings "auditors" 1 1000)
                 :every (settings/whole-number settings "every" 1 1000000)
                 :hot (settings/whole-number settings "hot" 0 100 0)
                 :seed (settings/whole-number settings "seed" 0 4294967295 0)}
        hold? (settings/flag settings "hold")
        _ (settings/cores settings)
        results (mapv #(once problem (and hold? (zero? %))) (range (settings/repeats settings)))
        fold (fn [folded balance] (rem (+ (* 31 folded) (mod balance modulus)) modulus))]
    (report-result (reduce fold 0 (mapcat :balances results)) results)
    (System/exit 0)))
