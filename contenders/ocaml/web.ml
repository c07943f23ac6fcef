(* What both servers of Cohttp do the same way. *)

open Lwt.Syntax
open Cohttp
module Server = Cohttp_lwt_unix.Server

let plain = Header.init_with "content-type" "text/plain"
let chunked body = Server.respond ~headers:plain ~status:`OK ~body:(Cohttp_lwt.Body.of_stream body) ()
let not_found () = Server.respond_string ~status:`Not_found ~body:"" ()

let only_get request answer =
  if Request.meth request = `GET then answer ()
  else
    let headers = Header.init_with "allow" "GET" in
    Server.respond_string ~headers ~status:`Method_not_allowed ~body:"" ()

(* Serves until SIGTERM, or the end of stdin. The promise that [answer] gets is kept when the connection has ended. *)
let serve answer =
  Service.forgive ();
  let socket = Service.listen () in
  let connections = Hashtbl.create 64 in
  let closing (_, connection) =
    match Hashtbl.find_opt connections connection with
    | Some (gone, _) -> gone
    | None ->
        let gone, close = Lwt.wait () in
        Hashtbl.replace connections connection (gone, close);
        gone
  in
  let conn_closed (_, connection) =
    match Hashtbl.find_opt connections connection with
    | Some (_, close) ->
        Hashtbl.remove connections connection;
        Lwt.wakeup_later close ()
    | None -> ()
  in
  let callback connection request _ = answer (closing connection) request in
  let server = Server.create ~on_exn:ignore ~mode:(`TCP (`Socket socket)) (Server.make ~conn_closed ~callback ()) in
  Service.ready socket;
  Lwt_main.run
    (let* () = Lwt.pick [ server; Service.until_told () ] in
     Lwt.return_unit)
