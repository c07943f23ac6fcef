(ns settings
  "The arguments, `key=value` each. A value that cannot be used ends the program with status 2 and one line; unknown keys
  are ignored."
  (:require [clojure.string :as string])
  (:import (java.net InetAddress UnknownHostException)))

(def most 1000000000)

(defn parse [arguments]
  (into {} (map #(let [[key value] (string/split % #"=" 2)] [key (or value "")])) arguments))

(defn text [settings key]
  (get settings key ""))

(defn refuse
  "Does not return."
  [settings key wanted]
  (let [shown (string/replace (text settings key) #"[^ -~]" "?")]
    (.println System/err (format "%s must be %s, not \"%s\"" key wanted shown))
    (System/exit 2)))

(defn whole-number
  ([settings key least most]
   (let [text (text settings key)
         number (when (re-matches #"[0-9]{1,18}" text) (Long/parseLong text))]
     (if (and number (<= least number most))
       number
       (refuse settings key (format "a whole number from %d to %d" least most)))))
  ([settings key least most otherwise]
   (if (contains? settings key) (whole-number settings key least most) otherwise)))

(defn needed [settings key choices]
  (let [text (text settings key)]
    (if (some #{text} choices) text (refuse settings key (string/join " or " choices)))))

(defn one-of
  "The first choice is the default."
  [settings key choices]
  (if (contains? settings key) (needed settings key choices) (first choices)))

(defn flag [settings key]
  (= "1" (one-of settings key ["0" "1"])))

(defn cores [settings]
  (whole-number settings "cores" 1 1024 1))

(defn repeats [settings]
  (whole-number settings "repeats" 1 3000 1))

(defn port [settings]
  (whole-number settings "port" 0 65535 0))

(defn host
  "The address on which a server listens."
  [settings]
  (let [text (get settings "host" "127.0.0.1")]
    (or (when (re-matches #"[0-9.]+" text)
          (try (InetAddress/getByName text)
               (catch UnknownHostException _ nil)))
        (refuse settings "host" "an IPv4 address"))))
