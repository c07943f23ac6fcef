(* The feed on Cohttp: a stream for each response, which makes a message when the one before has been written. *)

open Lwt.Syntax
open Settings

let interval = whole "interval_ms" ~default:"1000" ~most:3_600_000 1 * 1_000_000

(* Timers may be early. *)
let rec until due =
  let early = due - clock () in
  if early <= 0 then Lwt.return_unit
  else
    let* () = Lwt_unix.sleep (float_of_int early /. 1e9) in
    until due

let messages id gone =
  let k = ref 0 and due = ref 0 in
  let next () =
    incr k;
    if !k = 1 then due := clock ();
    due := !due + interval;
    let* () = until !due in
    Lwt.return (if Lwt.is_sleeping gone then Some (Printf.sprintf "Chunk %d for %s\n" !k id) else None)
  in
  Lwt_stream.append (Lwt_stream.return (Printf.sprintf "Welcome: %s\n" id)) (Lwt_stream.from next)

let is_id text = text <> "" && String.length text <= 20 && String.for_all is_digit text

let answer gone request =
  match String.split_on_char '/' (Uri.path (Cohttp.Request.uri request)) with
  | [ ""; "test"; id ] when is_id id -> Web.only_get request (fun () -> Web.chunked (messages id gone))
  | _ -> Web.not_found ()

let () = Web.serve answer
