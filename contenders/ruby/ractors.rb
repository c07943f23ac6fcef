# frozen_string_literal: true

require_relative "transfers"

# Units and auditors as ractors, and one that alone has the accounts and the number of transfers counted. Ractors share
# nothing that changes: they send each other frozen messages, and each receives by its own queue.
class Ractors
  # The results of an auditor.
  Seen = Struct.new(:audits, :wrong, :first, :last)

  # The owner's client in a ractor: its bank, and its desk.
  class Client
    def initialize(owner, auditors)
      @owner = owner
      @auditors = auditors
      @self = Ractor.current
    end

    def transfer(source, target, amount)
      @owner.send([@self, source, target, amount].freeze)
      Ractor.receive
    end

    def count(transfers) = @owner.send([nil, transfers].freeze)

    # Waits for the answer.
    def ask(auditor)
      @auditors[auditor].send(@self)
      Ractor.receive
    end
  end

  def open(problem)
    Warning[:experimental] = false
    @problem = problem
    @owner = Ractor.new(Ractor.current, problem.accounts) { |main, accounts| Ractors.own(main, accounts) }
    Ractor.receive # The accounts are there.
  end

  # The results of the units and the auditors.
  def work
    auditors = Array.new(@problem.auditors) do
      Ractor.new(Ractor.current, @owner, @problem) { |main, owner, problem| main.send(Ractors.audit(owner, problem)) }
    end
    auditors.freeze
    @problem.units.times do |number|
      Ractor.new(Ractor.current, @owner, auditors, @problem, number) do |main, owner, asked, problem, own|
        client = Client.new(owner, asked)
        main.send(Ractor.make_shareable(Unit.new(problem, own).work(client, client)))
      end
    end
    units = Array.new(@problem.units) { Ractor.receive }
    # One after the other, so that what they send comes in their order.
    [units, auditors.map { |auditor| auditor.send(nil) && Ractor.receive }]
  end

  # The final balances.
  def close
    @owner.send([Ractor.current].freeze)
    balances, = Ractor.receive
    @owner.send(nil)
    balances
  end

  # Tells the main ractor that it has the accounts, and has them until a message is nil.
  def self.own(main, accounts)
    balances = Array.new(accounts, OPENING_BALANCE)
    main.send(true)
    counted = 0
    while (message = Ractor.receive)
      asker, source, target, amount = message
      if amount
        balances[source] -= amount
        balances[target] += amount
        asker.send(true)
      elsif asker
        asker.send(Ractor.make_shareable([balances.dup, counted]))
      else
        counted += source
      end
    end
  end

  # Adds up all accounts for each unit that asks. Questions that come while it waits for balances wait in turn.
  def self.audit(owner, problem)
    seen = Seen.new(0, 0, 0, 0)
    waiting = []
    while (asker = waiting.shift || Ractor.receive)
      owner.send([Ractor.current].freeze)
      while (message = Ractor.receive).is_a?(Ractor)
        waiting << message
      end
      balances, seen.last = message
      seen.wrong += 1 unless balances.sum == problem.accounts * OPENING_BALANCE
      seen.first = seen.last if seen.audits.zero?
      seen.audits += 1
      asker.send(true)
    end
    seen
  end
end
