-- | The fibonacci service: a thread of the runtime for each connection.
module Main (main) where

import Control.Concurrent
import Control.Exception (IOException, finally, try)
import Control.Monad
import qualified Data.ByteString.Char8 as B
import Data.Char (isDigit)
import Network.Socket
import Network.Socket.ByteString (recv, sendAll)
import System.Timeout (timeout)

import Service
import Settings

longest, graceUs, pauseUs :: Int
longest = 100 -- bytes of a line, its newline included
graceUs = 1000000
pauseUs = 10000 -- until it accepts again, where no descriptor is free

main :: IO ()
main = do
  settings <- readSettings
  _ <- useCores settings
  listener <- listenOn settings
  forever $ do
    accepted <- try (accept listener) :: IO (Either IOException (Socket, SockAddr))
    case accepted of
      Left _ -> threadDelay pauseUs
      Right (client, _) -> void (forkIO (serve client `finally` close client))

-- | Answers one client's requests until it closes.
serve :: Socket -> IO ()
serve client = do
  ended <- try (setSocketOption client NoDelay 1 >> converse client B.empty) :: IO (Either IOException ())
  either (const (pure ())) pure ended -- It went away.

converse :: Socket -> B.ByteString -> IO ()
converse client unread = case B.elemIndex '\n' unread of
  Just size | size < longest -> do
    sendAll client (answer (B.take size unread))
    converse client (B.drop (size + 1) unread)
  _ | B.length unread >= longest -> do
        sendAll client (B.pack ("error: a line may have " ++ show longest ++ " bytes\n"))
        shutdown client ShutdownSend
        -- Closing with bytes unread would reset the connection, and the client might miss the answer.
        void (timeout graceUs (drain client))
    | otherwise -> do
        piece <- recv client 4096
        unless (B.null piece) (converse client (unread <> piece))

drain :: Socket -> IO ()
drain client = recv client 4096 >>= \piece -> unless (B.null piece) (drain client)

answer :: B.ByteString -> B.ByteString
answer line = case B.readInteger line of
  -- A sign is no digit, but `readInteger` takes one.
  Just (n, rest) | B.null rest, isDigit (B.head line), n >= 1, n <= 90 -> B.pack (show (fib (fromInteger n)) ++ "\n")
  _ -> B.pack "error: n must be a whole number from 1 to 90\n"

fib :: Int -> Int
fib n = if n <= 2 then 1 else fib (n - 1) + fib (n - 2)
