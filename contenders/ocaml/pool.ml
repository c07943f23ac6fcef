(* Domains that compute for promises: a notification of Lwt's tells the loop of each answer. *)

type t = { tasks : (unit -> unit) option Channel.t; domains : unit Domain.t list }

let create size =
  let tasks = Channel.create max_int in
  let rec work () =
    match Channel.take tasks with
    | None -> ()
    | Some task ->
        task ();
        work ()
  in
  { tasks; domains = List.init size (fun _ -> Domain.spawn work) }

(* The answer of a function that a domain computes. *)
let run pool compute =
  let promise, resolver = Lwt.wait () in
  let answer = Atomic.make None in
  let tell () = Lwt.wakeup_later resolver (Option.get (Atomic.get answer)) in
  let notification = Lwt_unix.make_notification ~once:true tell in
  let task () =
    Atomic.set answer (Some (compute ()));
    Lwt_unix.send_notification notification
  in
  Channel.put pool.tasks (Some task);
  promise

let close pool =
  List.iter (fun _ -> Channel.put pool.tasks None) pool.domains;
  List.iter Domain.join pool.domains
