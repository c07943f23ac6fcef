(* A queue between domains, with a bound or without. OCaml's library has none: its manual makes them of these two. *)

type 'a t = { lock : Mutex.t; filled : Condition.t; emptied : Condition.t; places : int; items : 'a Queue.t }

let create places =
  { lock = Mutex.create (); filled = Condition.create (); emptied = Condition.create (); places; items = Queue.create () }

let put channel item =
  Mutex.protect channel.lock (fun () ->
      while Queue.length channel.items >= channel.places do
        Condition.wait channel.emptied channel.lock
      done;
      Queue.push item channel.items;
      Condition.signal channel.filled)

let take channel =
  Mutex.protect channel.lock (fun () ->
      while Queue.is_empty channel.items do
        Condition.wait channel.filled channel.lock
      done;
      let item = Queue.pop channel.items in
      Condition.signal channel.emptied;
      item)
