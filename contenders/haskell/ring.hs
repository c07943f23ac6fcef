-- | The ring: a thread of the runtime for each unit, an MVar between neighbours.
module Main (main) where

import Control.Concurrent
import Control.Concurrent.STM
import Control.Monad
import qualified Data.ByteString.Char8 as B
import Data.Word (Word64)
import System.IO (hFlush, stdout)

import Settings

-- | A queue between two units.
data Queue a = Queue { put :: a -> IO (), get :: IO a }

-- | What unit N knows: the sum and the order of all values so far.
data Evidence = Evidence !Int !Int

data Ring = Ring { nodes, messages :: Int, capacity :: String, token, traced :: Bool }

-- | An MVar has one place.
newQueue :: String -> IO (Queue a)
newQueue places = case places of
  "unbounded" -> newChan >>= \chan -> pure (Queue (writeChan chan) (readChan chan))
  number | number `elem` ["30", "1000"] -> do
    queue <- newTBQueueIO (read number)
    pure (Queue (atomically . writeTBQueue queue) (atomically (readTBQueue queue)))
  _ -> newEmptyMVar >>= \box -> pure (Queue (putMVar box) (takeMVar box))

main :: IO ()
main = runInUnboundThread $ do
  settings <- readSettings
  ring <- Ring <$> wholeNumber settings "nodes" (2, most)
    <*> wholeNumber settings "messages" (1, most)
    <*> oneOf settings "capacity" ["own", "1", "30", "1000", "unbounded"]
    <*> ((== "token") <$> oneOf settings "mode" ["pipelined", "token"])
    <*> flag settings "trace"
  hold <- flag settings "hold"
  repeats <- wholeNumberOr settings "repeats" (1, 3000) 1
  _ <- useCores settings
  Evidence checksum order <- foldM (\before i -> once ring (hold && i == 1) before) (Evidence 0 0) [1 .. repeats]
  report ("::result checksum=" ++ show checksum ++ " order=" ++ show order)

-- | One ring; its evidence goes on from that of the rings before.
once :: Ring -> Bool -> Evidence -> IO Evidence
once ring hold before = do
  start <- clock
  arrived <- newEmptyMVar
  done <- newEmptyMVar
  first <- newQueue (capacity ring)
  final <- foldM (spawn ring) first [1 .. nodes ring - 1]
  void (forkIO (lastUnit ring final arrived before done))
  spawned <- clock
  report ("::phase name=spawn ns=" ++ show (spawned - start))
  when hold (holdFor "spawned")

  begun <- clock
  forM_ [messages ring - 1, messages ring - 2 .. 0] $ \r -> do
    put first r
    when (token ring) (takeMVar arrived)
  (ended, evidence) <- takeMVar done
  hFlush stdout
  report ("::phase name=relay ns=" ++ show (ended - begun))
  pure evidence

-- | Message 0, which ends the ring, as unit i receives it: the units before have added their numbers.
terminator :: Int -> Int
terminator i = i * (i - 1) `div` 2

-- | Starts unit i, one of 1 … N-1, and returns the queue behind it.
spawn :: Ring -> Queue Int -> Int -> IO (Queue Int)
spawn ring inbox i = do
  outbox <- newQueue (capacity ring)
  void (forkIO (relay ring i inbox outbox))
  pure outbox

relay :: Ring -> Int -> Queue Int -> Queue Int -> IO ()
relay ring i inbox outbox = do
  name <- ownName ring
  let loop = do
        value <- get inbox
        when (traced ring) (trace name i (value - terminator i) ':' '*' "terminate!")
        put outbox $! value + i
        when (value /= terminator i) loop
  loop

lastUnit :: Ring -> Queue Int -> MVar () -> Evidence -> MVar (Word64, Evidence) -> IO ()
lastUnit ring inbox arrived before done = do
  name <- ownName ring
  let n = nodes ring
      loop (Evidence checksum order) = do
        value <- get inbox
        let evidence = Evidence (checksum + value) ((31 * order + value) `mod` 2147483647)
        when (traced ring) (trace name n (value - terminator n) '>' '@' "")
        when (token ring) (putMVar arrived ())
        if value == terminator n
          then evidence `seq` clock >>= \now -> putMVar done (now, evidence)
          else loop evidence
  loop before

-- | The runtime's name of this thread; only with a trace.
ownName :: Ring -> IO B.ByteString
ownName ring
  | traced ring = B.pack . drop (length "ThreadId ") . show <$> myThreadId
  | otherwise = pure B.empty

-- | The line of one message: `more` marks those with others behind them, `final` the last.
trace :: B.ByteString -> Int -> Int -> Char -> Char -> String -> IO ()
trace name i r more final ending = B.putStr (B.concat (start : rest))
 where
  start = B.pack [if r > 0 then more else final]
  rest
    | r > 0 = [middle, B.pack (", Msg#: " ++ show r ++ " ..\n")]
    | null ending = [middle, B.pack ", ring terminated.\n"]
    | otherwise = [middle, B.pack (", Msg#: " ++ ending ++ "\n")]
  middle = B.concat [B.pack " Proc: ", name, B.pack (", Seq#: " ++ show i)]
