(ns protocol
  "Standard output and input, and how a server begins and ends."
  (:import (java.io BufferedOutputStream FileDescriptor FileOutputStream IOException OutputStream PrintStream)))

(def ^:const modulus 2147483647)

;; In blocks: `System/out` writes each line by itself.
(def ^PrintStream out
  (PrintStream. (BufferedOutputStream. (FileOutputStream. FileDescriptor/out) 65536) false))

(defn print-line [^String line]
  (.println out line))

(defn report
  "Writes a protocol line at once."
  [& parts]
  (print-line (apply str parts))
  (when (.checkError out) ; which flushes
    (.println System/err "cannot write to stdout")
    (System/exit 1)))

(defn report-phase [name ns]
  (report "::phase name=" name " ns=" ns))

(defn await-line
  "Waits for a line, or the end of stdin, which is as good."
  []
  (read-line))

(defn ready
  "From now on SIGTERM and the end of stdin end the program with status 0, whatever is in progress."
  [port]
  (let [runtime (Runtime/getRuntime)]
    (.addShutdownHook runtime (Thread. #(.halt runtime 0)))
    (doto (Thread. (fn []
                     (try (.transferTo System/in (OutputStream/nullOutputStream))
                          (catch IOException _ nil)) ; an end too
                     (.halt runtime 0)))
      (.setDaemon true)
      (.start))
    (report "::ready port=" port)))

(defn refuse-port [port]
  (.println System/err (str "port must be one that is free, not " port))
  (System/exit 2))
