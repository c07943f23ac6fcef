(ns fib
  "The fibonacci service: a thread of core.async's pool for each connection, which reads, computes and writes."
  (:gen-class)
  (:require [clojure.core.async :refer [thread]]
            [protocol :refer [ready refuse-port]]
            [settings :as settings])
  (:import (java.io IOException InputStream OutputStream)
           (java.net InetAddress ServerSocket Socket)
           (java.util Arrays)))

(set! *warn-on-reflection* true)

(def ^:const backlog 4096)
(def ^:const longest 100) ; bytes of a line, its newline included
(def ^:const largest 90)
(def ^:const grace-ms 1000)
(def ^:const pause-ms 10) ; until it accepts again, where no descriptor is free
(def ^:const newline-byte 10)
(def too-long (format "error: a line may have %d bytes\n" longest))
(def not-answered (format "error: n must be a whole number from 1 to %d\n" largest))

(defn- fibonacci ^long [^long n]
  (if (<= n 2) 1 (+ (fibonacci (- n 1)) (fibonacci (- n 2)))))

(defn- answer [^bytes line]
  (let [n (areduce line i n 0
                   (let [digit (- (aget line i) 48)]
                     (if (and (<= 0 digit 9) (<= 0 n)) (min (+ (* 10 n) digit) (inc largest)) -1)))]
    (if (<= 1 n largest) (str (fibonacci n) "\n") not-answered)))

(defn- newline-at
  "Where the line that starts at `begin` ends; nil where its newline is not there yet, or it is too long."
  [^bytes buffer begin end]
  (let [end (long (min end (+ begin longest)))]
    (loop [at (long begin)]
      (when (< at end)
        (if (= newline-byte (aget buffer at)) at (recur (inc at)))))))

(defn- write [^OutputStream output ^String text]
  (.write output (.getBytes text)))

(defn- refuse-long-line [^Socket client ^InputStream input output]
  (write output too-long)
  (.shutdownOutput client)
  ;; Closing with bytes unread would reset the connection, and the client might miss the answer.
  (.setSoTimeout client grace-ms)
  (.transferTo input (OutputStream/nullOutputStream)))

(defn- converse
  "Answers one client's requests until it closes."
  [^Socket client]
  (with-open [client client]
    (.setTcpNoDelay client true)
    (let [input (.getInputStream client)
          output (.getOutputStream client)
          buffer (byte-array 4096)]
      (loop [held 0]
        (let [count (.read input buffer held (- (alength buffer) held))
              end (+ held count)]
          (when (pos? count)
            (let [begin (long (loop [begin 0]
                                (if-let [at (newline-at buffer begin end)]
                                  (do (write output (answer (Arrays/copyOfRange buffer (int begin) (int at))))
                                      (recur (inc (long at))))
                                  begin)))
                  rest (- end begin)]
              (if (>= rest longest)
                (refuse-long-line client input output)
                (do (System/arraycopy buffer begin buffer 0 rest)
                    (recur rest))))))))))

(defn- accept [^ServerSocket listener]
  (try
    (let [client (.accept listener)]
      (thread (try (converse client)
                   (catch IOException _ nil)))) ; the client went away
    (catch IOException _ (Thread/sleep pause-ms))))

(defn -main [& arguments]
  (let [settings (settings/parse arguments)
        ^InetAddress host (settings/host settings)
        port (settings/port settings)
        _ (settings/cores settings)
        listener (try (ServerSocket. port backlog host)
                      (catch IOException _ (refuse-port port)))]
    (ready (.getLocalPort ^ServerSocket listener))
    (while true (accept listener))))
