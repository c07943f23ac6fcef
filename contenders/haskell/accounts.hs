-- | The accounts: a thread of the runtime for each unit and each auditor, and a transactional variable for each account.
module Main (main) where

import Control.Concurrent
import Control.Concurrent.STM
import Control.Monad
import Data.Array
import Data.IORef
import Data.List (intercalate, sort)
import Data.Word (Word64)

import Settings

data Problem = Problem
  { accounts, units, transfers, auditors, every, hot, seed :: !Int }

-- | What an auditor saw: how many audits, how many of them with a wrong sum, and the transfers counted at the first and
-- at the last.
data Seen = Seen { audits, wrong, firstCounted, lastCounted :: !Int }

data Worked = Worked { made :: !Int, transferNs, auditNs :: [Word64] }

type Bank = Array Int (TVar Int)

modulus, factor, openingBalance, timed :: Int
modulus = 2147483647
factor = 48271
openingBalance = 1000
-- A unit reads the clock before and after one of so many transfers.
timed = 16

main :: IO ()
main = do
  settings <- readSettings
  problem <- Problem
    <$> wholeNumber settings "accounts" (2, 100000)
    <*> wholeNumber settings "units" (1, 10000)
    <*> wholeNumber settings "transfers" (1, 1000000)
    <*> wholeNumber settings "auditors" (1, 1000)
    <*> wholeNumber settings "every" (1, 1000000)
    <*> wholeNumberOr settings "hot" (0, 100) 0
    <*> wholeNumberOr settings "seed" (0, 4294967295) 0
  repeats <- wholeNumberOr settings "repeats" (1, 3000) 1
  hold <- flag settings "hold"
  _ <- useCores settings
  results <- forM [1 .. repeats] $ \time -> once problem (hold && time == 1)
  let folded = foldl (\h (balances, _, _) -> foldl fold h balances) 0 results
      total field = sum [field each | (_, _, seen) <- results, each <- seen]
      (_, lastWorked, lastSeen) = last results
      joined field = intercalate "," (map (show . field) lastSeen)
  report $ unwords
    [ "::result balances=" ++ show folded
    , "transfers=" ++ show (sum [made each | (_, worked, _) <- results, each <- worked])
    , "audits=" ++ show (total audits), "wrong=" ++ show (total wrong)
    , "first=" ++ joined firstCounted, "last=" ++ joined lastCounted
    , percentiles "transfer" (concatMap transferNs lastWorked), percentiles "audit" (concatMap auditNs lastWorked)
    ]
 where
  fold h balance = (31 * h + balance `mod` modulus) `rem` modulus

-- | The final balances, and what units and auditors have done.
once :: Problem -> Bool -> IO ([Int], [Worked], [Seen])
once problem hold = do
  bank <- listArray (0, accounts problem - 1) <$> replicateM (accounts problem) (newTVarIO openingBalance)
  when hold (holdFor "opened")
  begin <- clock
  counted <- newIORef 0
  questions <- replicateM (auditors problem) newChan
  auditing <- forM questions (spawned . audit problem bank counted)
  let asked = listArray (0, auditors problem - 1) questions
  working <- forM [0 .. units problem - 1] $ \unit -> spawned (work problem bank counted asked unit)
  worked <- mapM takeMVar working
  forM_ questions (`writeChan` Nothing)
  seen <- mapM takeMVar auditing
  end <- clock
  report ("::phase name=transfer ns=" ++ show (end - begin))
  balances <- mapM readTVarIO (elems bank)
  -- All of it is computed now: nothing of this repeat is kept for later.
  sum balances `seq` pure (balances, worked, seen)

-- | Where the value of a new thread comes.
spawned :: IO a -> IO (MVar a)
spawned action = do
  result <- newEmptyMVar
  _ <- forkIO (action >>= putMVar result)
  pure result

-- | Adds up all accounts for each unit that asks.
audit :: Problem -> Bank -> IORef Int -> Chan (Maybe (MVar Int)) -> IO Seen
audit problem bank counted questions = go (Seen 0 0 0 0)
 where
  go seen = readChan questions >>= maybe (pure seen) (answer seen)
  answer seen asker = do
    balances <- atomically (mapM readTVar (elems bank))
    let total = sum balances
        isWrong = if total == accounts problem * openingBalance then 0 else 1
    now <- isWrong `seq` readIORef counted
    putMVar asker total
    go $! Seen
      { audits = audits seen + 1, wrong = wrong seen + isWrong
      , firstCounted = if audits seen == 0 then now else firstCounted seen, lastCounted = now }

-- | A unit makes its transfers. After every so many of them it waits for an audit.
work :: Problem -> Bank -> IORef Int -> Array Int (Chan (Maybe (MVar Int))) -> Int -> IO Worked
work problem bank counted asked unit = do
  answer <- newEmptyMVar
  let
    go number x turn transferred audited
      | number == transfers problem = pure (Worked number transferred audited)
      | otherwise = do
          let x1 = factor * x `rem` modulus
              x2 = factor * x1 `rem` modulus
              x3 = factor * x2 `rem` modulus
              source = if x1 `quot` 1000 `rem` 100 < hot problem then 0 else x2 `rem` accounts problem
              other = x3 `rem` (accounts problem - 1)
              target = if other >= source then other + 1 else other
              step = transfer bank source target (1 + x1 `rem` 1000)
          times <- if number `rem` timed == 0 then (: transferred) <$> timing step else transferred <$ step
          if (number + 1) `rem` every problem == 0
            then do
              atomicModifyIORef' counted (\before -> (before + every problem, ()))
              spent <- timing $ do
                writeChan (asked ! (turn `rem` auditors problem)) (Just answer)
                void (takeMVar answer)
              go (number + 1) x3 (turn + 1) times (spent : audited)
            else go (number + 1) x3 turn times audited
  go 0 (1 + (seed problem + unit) `rem` (modulus - 1)) unit [] []

transfer :: Bank -> Int -> Int -> Int -> IO ()
transfer bank source target amount = atomically $ do
  modifyTVar' (bank ! source) (subtract amount)
  modifyTVar' (bank ! target) (+ amount)

timing :: IO () -> IO Word64
timing action = do
  begin <- clock
  action
  end <- clock
  let spent = end - begin
  spent `seq` pure spent

-- | The smallest times that so many percent do not exceed; 0 where there is none.
percentiles :: String -> [Word64] -> String
percentiles name times = unwords [name ++ "_" ++ level ++ "_ns=" ++ show (at percent) | (level, percent) <- levels]
 where
  levels = [("p50", 50), ("p99", 99), ("max", 100)]
  count = length times
  sorted = listArray (0, max 0 (count - 1)) (if null times then [0] else sort times)
  at percent = sorted ! max 0 ((count * percent + 99) `div` 100 - 1)
