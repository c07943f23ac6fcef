-- | How a server begins and ends.
module Service (listenOn, endWhenTold, raiseFileLimit) where

import Control.Concurrent (forkIO)
import Control.Exception (IOException, catch)
import Control.Monad (forever, void)
import qualified Data.ByteString as B
import Network.Socket
import System.Exit (ExitCode (ExitSuccess))
import System.IO (stdin)
import System.IO.Error (eofErrorType, mkIOError)
import System.Posix.Process (exitImmediately)
import System.Posix.Resource
import System.Posix.Signals (Handler (Catch), installHandler, sigTERM)

import Settings

-- | Listens, says so, and returns the socket.
listenOn :: Settings -> IO Socket
listenOn settings = do
  host <- address settings "host"
  port <- wholeNumberOr settings "port" (0, 65535) 0
  raiseFileLimit
  listener <- socket AF_INET Stream defaultProtocol
  setSocketOption listener ReuseAddr 1
  setCloseOnExecIfNeeded =<< unsafeFdSocket listener
  bind listener (SockAddrInet (fromIntegral port) (tupleToHostAddress host)) `catch` taken
  listen listener 4096 `catch` taken
  endWhenTold
  chosen <- socketPort listener
  report ("::ready port=" ++ show chosen)
  pure listener
 where
  taken :: IOException -> IO ()
  taken _ = refuse settings "port" "one that is free"

-- | SIGTERM and the end of stdin end the program at once, whatever is in progress.
endWhenTold :: IO ()
endWhenTold = do
  void (installHandler sigTERM (Catch end) Nothing)
  void (forkIO (forever readMore `catch` ended))
 where
  end = exitImmediately ExitSuccess
  readMore = do
    bytes <- B.hGetSome stdin 4096
    if B.null bytes then ioError (mkIOError eofErrorType "stdin" Nothing Nothing) else pure ()
  ended :: IOException -> IO ()
  ended _ = end

raiseFileLimit :: IO ()
raiseFileLimit = do
  limits <- getResourceLimit ResourceOpenFiles
  setResourceLimit ResourceOpenFiles limits { softLimit = hardLimit limits }
