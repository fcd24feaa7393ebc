# frozen_string_literal: true

require "logger"

HookTable.library "logger" do
  format = ->(*, message) { message }

  {
    "info" => ->(logger, text) { logger.info(text) },
    "add" => ->(logger, text) { logger.add(Logger::WARN, text) },
    "<<" => ->(logger, text) { (logger << text).positive? }
  }.each do |name, call|
    row "Logger##{name}", "to a full pipe" do
      reader, writer = IO.pipe
      bytes = fill(writer)
      logger = Logger.new(writer, formatter: format)
      inside { call.call(logger, "late") }
      event { drain(reader, bytes) }
      gives { |result| result == true && drain(reader) == "late" }
    end
  end

  {
    "while another fiber of the loop writes" => ->(stage, write) {
      stage.instance_eval { companion(&write) }
    },
    "while a thread writes" => ->(stage, write) {
      stage.instance_eval do
        other_thread(&write).then { |thread| Thread.pass until thread.stop? }
      end
    }
  }.each do |variant, beside|
    row "Logger#info", variant do
      reader, writer = IO.pipe
      bytes = fill(writer)
      logger = Logger.new(writer, formatter: format)
      beside.call(self, -> { logger.info("first") })
      taken = +""
      inside { logger.info("second") }
      event { taken << drain(reader, bytes) }
      gives { (taken << drain(reader, bytes + 11 - taken.bytesize)).end_with?("firstsecond") }
    end
  end

  # What renames the file asks for its lock (Logger::LogDevice#lock_shift_log), against other
  # processes.
  row "Logger#info", "rotating while another process has the file's lock",
      cured: { ">= 0" => "flock" } do
    path = file("x" * 100, name: "log")
    logger = Logger.new(path, 2, 50, formatter: format)
    holder = File.open(path).tap { |lock| lock.flock(File::LOCK_EX) }
    flocks = count_flocks
    inside { logger.info("late") }
    reached { flocks.call == 1 }
    event { holder.flock(File::LOCK_UN) }
    gives { File.read(path).end_with?("late") && File.exist?("#{path}.0") }
  end
end
