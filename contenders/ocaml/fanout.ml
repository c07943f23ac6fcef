(* The gateway on Cohttp; domains compute the sums of [kind=cpu]. *)

open Lwt.Syntax
open Settings

let units = 3
let bad_upstream = 400
let kind = one_of "kind" "" [ "io"; "cpu"; "mixed" ]
let tick = whole "tick_ms" ~default:"50" 1 * 1_000_000
let timeout = float_of_int (whole "timeout_ms" ~default:"5000" 1) /. 1e3
let work = whole "work" ~default:"100000" 1

let upstreams =
  if kind = "cpu" then []
  else
    let written = text "upstreams" "" in
    let urls = List.map Uri.of_string (String.split_on_char ',' written) in
    let is_usable url =
      Uri.scheme url = Some "http" && Uri.host url = Some "127.0.0.1" && Uri.port url <> None && Uri.path url <> ""
    in
    if List.length urls = units && List.for_all is_usable urls then urls
    else refuse "upstreams" "three of http://127.0.0.1:PORT/, with commas between them" written

let sum work =
  let total = ref 0 in
  for i = 1 to work - 1 do
    total := !total + i
  done;
  !total

(* 400 for any failure. *)
let call headers url =
  Lwt.catch
    (fun () -> Lwt_unix.with_timeout timeout (fun () -> Upstream.status url headers))
    (fun _ -> Lwt.return bad_upstream)

(* A body of so many pieces, each written when it is there, with a dot for each tick without one. *)
let body ?tick pieces gone =
  let stream, push = Lwt_stream.create () in
  let missing = ref units and last = ref (clock ()) in
  let write text =
    last := clock ();
    push (Some text)
  in
  let add piece =
    let* text = piece in
    write text;
    decr missing;
    if !missing = 0 then push None;
    Lwt.return_unit
  in
  let rec dots tick =
    let early = !last + tick - clock () in
    let* () = if early > 0 then Lwt_unix.sleep (float_of_int early /. 1e9) else Lwt.return (write ".") in
    if !missing > 0 && Lwt.is_sleeping gone then dots tick else Lwt.return_unit
  in
  Option.iter (fun tick -> Lwt.async (fun () -> dots tick)) tick;
  List.iter (fun piece -> Lwt.async (fun () -> add piece)) pieces;
  Web.chunked stream

let pieces_of =
  match kind with
  | "cpu" ->
      let pool = Pool.create cores in
      let piece () = Lwt.map (Printf.sprintf "%d\n") (Pool.run pool (fun () -> sum work)) in
      fun _ -> List.init units (fun _ -> piece ())
  | kind ->
      let show status = if kind = "io" then string_of_int status else Printf.sprintf "%d:%d\n" status (sum work) in
      fun headers -> List.map (fun url -> Lwt.map show (call headers url)) upstreams

let answer gone request =
  if Uri.path (Cohttp.Request.uri request) <> "/" then Web.not_found ()
  else
    Web.only_get request (fun () ->
        let headers =
          match Cohttp.Header.get (Cohttp.Request.headers request) "x-request-id" with
          | Some id -> Cohttp.Header.init_with "x-request-id" id
          | None -> Cohttp.Header.init ()
        in
        if kind = "cpu" then body (pieces_of headers) gone else body ~tick (pieces_of headers) gone)

let () = Web.serve answer
