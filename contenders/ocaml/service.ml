(* How a server begins and ends. *)

open Lwt.Syntax
open Settings

let backlog = 4096

(* A socket that listens where the arguments say. *)
let listen () =
  let host = text "host" "127.0.0.1" and port = whole "port" ~default:"0" ~most:65535 0 in
  let socket = Lwt_unix.socket ~cloexec:true PF_INET SOCK_STREAM 0 in
  Lwt_unix.setsockopt socket SO_REUSEADDR true;
  (try Lwt_main.run (Lwt_unix.bind socket (ADDR_INET (Unix.inet_addr_of_string host, port)))
   with Unix.Unix_error _ | Failure _ -> refuse "port" ("one that is free on " ^ host) (string_of_int port));
  Lwt_unix.listen socket backlog;
  socket

let ready socket =
  match Lwt_unix.getsockname socket with
  | ADDR_INET (_, port) -> report "::ready port=%d" port
  | ADDR_UNIX _ -> assert false

(* Until SIGTERM, or the end of stdin. *)
let until_told () =
  let told, tell = Lwt.wait () in
  let tell () = if Lwt.is_sleeping told then Lwt.wakeup_later tell () in
  ignore (Lwt_unix.on_signal Sys.sigterm (fun _ -> tell ()));
  let rec read () =
    let* line = Lwt_io.read_line_opt Lwt_io.stdin in
    if line = None then Lwt.return (tell ()) else read ()
  in
  Lwt.async read;
  told

(* Clients come and go: what goes wrong with one is no news. *)
let forgive () = Lwt.async_exception_hook := ignore
