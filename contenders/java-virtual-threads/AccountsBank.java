import java.util.Arrays;
import java.util.concurrent.locks.ReentrantLock;

/** Shared by all units and auditors. */
interface AccountsBank {
    long OPENING_BALANCE = 1000;

    void transfer(int source, int target, long amount);

    /** A consistent copy, in the order of the accounts. */
    long[] balances();

    /** A lock for each account. Who needs several takes them in the order of the accounts, so that no two wait for each
     * other. */
    final class LockForEach implements AccountsBank {
        private static final class Account {
            final ReentrantLock lock = new ReentrantLock();
            long balance = OPENING_BALANCE;
        }

        private final Account[] accounts;

        LockForEach(int accounts) {
            this.accounts = new Account[accounts];
            for (int i = 0; i < accounts; i++) {
                this.accounts[i] = new Account();
            }
        }

        @Override
        public void transfer(int source, int target, long amount) {
            var first = accounts[Math.min(source, target)].lock;
            var second = accounts[Math.max(source, target)].lock;
            first.lock();
            try {
                second.lock();
                try {
                    accounts[source].balance -= amount;
                    accounts[target].balance += amount;
                } finally {
                    second.unlock();
                }
            } finally {
                first.unlock();
            }
        }

        @Override
        public long[] balances() {
            int locked = 0;
            try {
                for (; locked < accounts.length; locked++) {
                    accounts[locked].lock.lock();
                }
                var result = new long[accounts.length];
                for (int i = 0; i < result.length; i++) {
                    result[i] = accounts[i].balance;
                }
                return result;
            } finally {
                while (locked > 0) {
                    accounts[--locked].lock.unlock();
                }
            }
        }
    }

    final class OneLock implements AccountsBank {
        private final ReentrantLock lock = new ReentrantLock();
        private final long[] accounts;

        OneLock(int accounts) {
            this.accounts = new long[accounts];
            Arrays.fill(this.accounts, OPENING_BALANCE);
        }

        @Override
        public void transfer(int source, int target, long amount) {
            lock.lock();
            try {
                accounts[source] -= amount;
                accounts[target] += amount;
            } finally {
                lock.unlock();
            }
        }

        @Override
        public long[] balances() {
            lock.lock();
            try {
                return accounts.clone();
            } finally {
                lock.unlock();
            }
        }
    }
}
