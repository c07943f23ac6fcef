# frozen_string_literal: true

require_relative "settings"

OPENING_BALANCE = 1000
MODULUS = 2_147_483_647
FACTOR = 48_271
# A unit reads the clock before and after one of so many transfers.
TIMED = 16

Problem = Struct.new(:accounts, :units, :transfers, :auditors, :every, :hot, :seed)

# A unit makes its transfers. After every so many of them it waits for an audit.
class Unit
  attr_reader :made, :transfer_ns, :audit_ns

  def initialize(problem, number)
    @problem = problem
    @turn = number
    @x = 1 + ((problem.seed + number) % (MODULUS - 1))
    @made = 0
    @transfer_ns = []
    @audit_ns = []
  end

  # The bank makes transfers; at the desk a unit counts them and asks auditors.
  def work(bank, desk)
    accounts, _, transfers, _, every, percent = *@problem
    x = @x
    number = 0
    while number < transfers
      x = FACTOR * x % MODULUS
      amount = 1 + (x % 1000)
      hot = x / 1000 % 100 < percent
      x = FACTOR * x % MODULUS
      source = hot ? 0 : x % accounts
      x = FACTOR * x % MODULUS
      target = x % (accounts - 1)
      target += 1 if target >= source
      if (number % TIMED).zero?
        begin_ns = Settings.clock
        bank.transfer(source, target, amount)
        @transfer_ns << (Settings.clock - begin_ns)
      else
        bank.transfer(source, target, amount)
      end
      number += 1
      audit(desk) if (number % every).zero?
    end
    @made = number
    self
  end

  private

  def audit(desk)
    desk.count(@problem.every)
    begin_ns = Settings.clock
    desk.ask(@turn % @problem.auditors)
    @audit_ns << (Settings.clock - begin_ns)
    @turn += 1
  end
end
