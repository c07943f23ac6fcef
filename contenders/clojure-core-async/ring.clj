(ns ring
  "The ring: a go block for each unit, a channel between neighbours."
  (:gen-class)
  (:require [clojure.core.async :refer [<! <!! >! chan go go-loop]]
            [protocol :refer [await-line modulus print-line report report-phase]]
            [settings :as settings]))

(defn- terminator
  "Message 0, which ends the ring, as unit i receives it: the units before have added their numbers."
  [i]
  (quot (* i (dec i)) 2))

(defn- id
  "A go block has no name: that of the channel that it reads from."
  [inbox]
  (Integer/toHexString (System/identityHashCode inbox)))

(defn- relay
  "Unit i, one of 1 … N-1."
  [i inbox outbox trace?]
  (let [end (terminator i)
        name (when trace? (id inbox))]
    (go-loop []
      (let [value (<! inbox)]
        (when trace?
          (print-line (if (= value end)
                        (str "* Proc: " name ", Seq#: " i ", Msg#: terminate!")
                        (str ": Proc: " name ", Seq#: " i ", Msg#: " (- value end) " .."))))
        (>! outbox (+ value i))
        (when-not (= value end) (recur))))))

(defn- last-unit
  "Unit N: a channel that gets the evidence when the last message came."
  [nodes inbox arrived {:keys [checksum order]} {:keys [token? trace?]}]
  (let [end (terminator nodes)
        name (when trace? (id inbox))]
    (go-loop [checksum checksum, order order]
      (let [value (<! inbox)
            checksum (+ checksum value)
            order (mod (+ (* 31 order) value) modulus)]
        (when trace?
          (print-line (if (= value end)
                        (str "@ Proc: " name ", Seq#: " nodes ", ring terminated.")
                        (str "> Proc: " name ", Seq#: " nodes ", Msg#: " (- value end) " .."))))
        (when token? (>! arrived true))
        (if (= value end)
          {:checksum checksum :order order :end-ns (System/nanoTime)}
          (recur checksum order))))))

(defn- once [{:keys [nodes messages capacity token? trace?] :as options} evidence hold?]
  (let [start-ns (System/nanoTime)
        inbox (chan capacity)
        arrived (chan 1)
        last-inbox (reduce (fn [inbox i]
                             (let [outbox (chan capacity)]
                               (relay i inbox outbox trace?)
                               outbox))
                           inbox (range 1 nodes))
        done (last-unit nodes last-inbox arrived evidence options)]
    (report-phase "spawn" (- (System/nanoTime) start-ns))
    (when hold?
      (report "::await name=spawned")
      (await-line))
    (let [relay-ns (System/nanoTime)]
      ;; The feeder: blocking puts of the main thread would each wake another one.
      (go-loop [r (dec messages)]
        (>! inbox r)
        (when token? (<! arrived))
        (when (pos? r) (recur (dec r))))
      (let [evidence (<!! done)]
        (report-phase "relay" (- (:end-ns evidence) relay-ns))
        evidence))))

(defn -main [& arguments]
  (let [settings (settings/parse arguments)
        capacity (settings/one-of settings "capacity" ["own" "0" "1" "30" "1000"])
        options {:nodes (settings/whole-number settings "nodes" 2 settings/most)
                 :messages (settings/whole-number settings "messages" 1 settings/most)
                 :capacity (when-not (#{"own" "0"} capacity) (parse-long capacity))
                 :token? (= "token" (settings/one-of settings "mode" ["pipelined" "token"]))
                 :trace? (settings/flag settings "trace")}
        hold? (settings/flag settings "hold")
        repeats (settings/repeats settings)]
    (settings/cores settings)
    (let [{:keys [checksum order]} (reduce (fn [evidence i] (once options evidence (and hold? (zero? i))))
                                           {:checksum 0 :order 0} (range repeats))]
      (report "::result checksum=" checksum " order=" order))
    (System/exit 0)))
