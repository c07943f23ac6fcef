-- | The background jobs: W threads take jobs from a queue; each answer has an MVar of its own. The main thread collects
-- them in order, and another one beats.
module Main (main) where

import Control.Concurrent
import Control.Concurrent.STM
import Control.Exception (evaluate)
import Control.Monad
import Data.IORef
import Data.Word (Word64)

import Settings

data Kind = Sleep | Cpu | Noop deriving (Eq)

data Jobs = Jobs { count, workers, durationMs, rounds, seed :: Int, kind :: Kind, traced :: Bool }

data Answer = Answer { value :: !Int, place :: !Int, begun, ended :: !Word64 }

modulus, timesAlone :: Int
modulus = 2147483647
timesAlone = 5

beatNs :: Word64
beatNs = 10000000

firstValue :: Jobs -> Int -> Int
firstValue jobs number = 1 + (seed jobs + number) `mod` (modulus - 1)

advance :: Int -> Int -> Int
advance 0 x = x
advance left x = advance (left - 1) (48271 * x `rem` modulus)

main :: IO ()
main = runInUnboundThread $ do
  settings <- readSettings
  kindName <- needed settings "kind" ["sleep", "cpu", "noop"]
  jobs <- Jobs <$> wholeNumber settings "jobs" (1, 1000000)
    <*> wholeNumber settings "workers" (1, 1024)
    <*> wholeNumberOr settings "duration_ms" (0, 3600000) 1000
    <*> wholeNumberOr settings "rounds" (1, most) 1000000
    <*> wholeNumberOr settings "seed" (0, 4294967295) 0
    <*> pure (case kindName of "sleep" -> Sleep; "cpu" -> Cpu; _ -> Noop)
    <*> flag settings "trace"
  hold <- flag settings "hold"
  repeats <- wholeNumberOr settings "repeats" (1, 3000) 1
  _ <- useCores settings
  last' <- newIORef (firstValue jobs 0)
  when (kind jobs == Cpu) (replicateM_ timesAlone (alone jobs last'))
  x <- readIORef last'
  (order, beats) <- foldM (\before i -> inBackground jobs (hold && i == 1) before) (0, 0) [1 .. repeats]
  report (unwords
    [ "::result", "answers=" ++ show (repeats * count jobs), "order=" ++ show order, "beats=" ++ show beats
    , "alone=" ++ show x ])

-- | Begins with the answer of the one before.
alone :: Jobs -> IORef Int -> IO ()
alone jobs before = do
  start <- clock
  x <- readIORef before
  answer <- evaluate (advance (rounds jobs) x)
  end <- clock
  writeIORef before answer
  report ("::phase name=alone ns=" ++ show (end - start))

-- | All jobs once. Goes on from the order and the beats before.
inBackground :: Jobs -> Bool -> (Int, Int) -> IO (Int, Int)
inBackground jobs hold (orderBefore, beatsBefore) = do
  start <- clock
  queue <- newTQueueIO
  threads <- forM [0 .. workers jobs - 1] (forkIO . work jobs queue)
  answers <- forM [0 .. count jobs - 1] $ \number -> do
    answer <- newEmptyMVar
    atomically (writeTQueue queue (firstValue jobs number, answer))
    pure answer
  submitted <- clock
  report ("::phase name=submit ns=" ++ show (submitted - start))
  heart <- newIORef (Heart submitted 0 0)
  beating <- forkIO (beat heart (submitted + beatNs))
  when hold (holdFor "submitted")
  results <- mapM takeMVar answers
  end <- clock
  report ("::phase name=makespan ns=" ++ show (end - start))
  killThread beating
  mapM_ killThread threads
  Heart lastBeat longest beats <- readIORef heart
  -- The last beat may have come after the last answer, before its thread was ended.
  report ("::phase name=gap ns=" ++ show (max longest (end - min end lastBeat)))
  when (traced jobs) $ forM_ results $ \answer ->
    report (unwords
      ["::span", "unit=" ++ show (place answer), "begin=" ++ show (begun answer - start), "end=" ++ show (ended answer - start)])
  let order = foldl (\h answer -> (31 * h + value answer) `mod` modulus) orderBefore results
  order `seq` pure (order, beatsBefore + beats)

-- | One of W places.
work :: Jobs -> TQueue (Int, MVar Answer) -> Int -> IO ()
work jobs queue number = forever $ do
  (x, answer) <- atomically (readTQueue queue)
  begin <- clock
  when (kind jobs == Sleep) (threadDelay (1000 * durationMs jobs))
  let result = advance (if kind jobs == Cpu then rounds jobs else 1) x
  end <- result `seq` clock
  putMVar answer (Answer result number begin end)

-- | The last beat, the longest time between two, and how many there were.
data Heart = Heart !Word64 !Word64 !Int

beat :: IORef Heart -> Word64 -> IO ()
beat heart due = do
  now <- clock
  if now < due
    then threadDelay (fromIntegral ((due - now + 999) `div` 1000)) >> beat heart due
    else do
      modifyIORef' heart (\(Heart before longest beats) -> Heart now (max longest (now - before)) (beats + 1))
      beat heart (now + beatNs)
