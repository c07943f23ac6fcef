(* A request to an upstream by Cohttp's parser, over a connection of its own. Cohttp's client takes a head or a body
   that breaks off for a whole one, and leaves a connection open when a time limit ends its request. *)

open Lwt.Syntax
open Cohttp_lwt_unix

exception Bad

let connect url =
  let socket = Lwt_unix.socket ~cloexec:true PF_INET SOCK_STREAM 0 in
  let address = Unix.inet_addr_of_string (Option.get (Uri.host url)) in
  (socket, Lwt_unix.connect socket (ADDR_INET (address, Option.get (Uri.port url))))

(* The status when all of the answer is there. *)
let status url headers =
  let socket, connected = connect url in
  let has_ended = ref false in
  let read buffer offset length =
    let+ count = Lwt_bytes.read socket buffer offset length in
    if count = 0 then has_ended := true;
    count
  in
  let converse () =
    let* () = connected in
    let input = Lwt_io.make ~mode:Input read in
    let output = Lwt_io.of_fd ~close:Lwt.return ~mode:Output socket in
    let request = Request.make_for_client ~headers ~chunked:false ~body_length:0L `GET url in
    let* () = Request.write (fun _ -> Lwt.return_unit) request output in
    let* () = Lwt_io.flush output in
    let* answer = Response.read input in
    match answer with
    | `Ok response when not !has_ended ->
        let reader = Response.make_body_reader response input in
        let rec drain () =
          let* chunk = Response.read_body_chunk reader in
          match chunk with Chunk _ -> drain () | Final_chunk _ | Done -> Lwt.return_unit
        in
        let* () = if Response.has_body response = `No then Lwt.return_unit else drain () in
        if !has_ended && Response.encoding response <> Unknown then Lwt.fail Bad
        else Lwt.return (Cohttp.Code.code_of_status (Response.status response))
    | _ -> Lwt.fail Bad
  in
  Lwt.finalize converse (fun () -> Lwt_unix.close socket)
