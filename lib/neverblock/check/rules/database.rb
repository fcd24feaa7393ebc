# frozen_string_literal: true

# Connection pools against the requests that run at once. No database is asked.

require "neverblock/check/finding"
require "neverblock/db/active_record/pool_size"

module NeverBlock
  module Check
    module Rules
      module Database
        # PostgreSQL's max_connections as it comes; MariaDB's and MySQL's is 151.
        SERVER_DEFAULT = 100

        module_function

        # @return [Array<Finding>]
        def call(subject)
          [*active_record(subject), *sequel(subject)]
        end

        def active_record(subject)
          return [] unless defined?(::ActiveRecord::Base) && defined?(::Rails.env)

          configurations = ::ActiveRecord::Base.configurations.configs_for(env_name: ::Rails.env.to_s)
          configurations.flat_map { |configuration| of_configuration(configuration, subject) }
        end

        def of_configuration(configuration, subject)
          adapter = configuration.adapter.to_s
          return [sqlite(configuration)] if adapter.include?("sqlite")

          written = configuration.configuration_hash.fetch(:max_connections) { configuration.configuration_hash[:pool] }
          name = "database #{configuration.name} (#{adapter})"
          return [automatic(name, adapter)].compact if [nil, "auto", DB::ActiveRecord::PoolSize::DEFAULT, DB::ActiveRecord::PoolSize::DEFAULT.to_s].include?(written)

          [pool(name, written.to_i, subject, "docs/guides/activerecord.md")].compact
        end

        def automatic(name, adapter)
          return if adapter.match?(/postg|mysql|trilogy/)

          Finding.of(:warning, "adapter",
                     "#{name}: NeverBlock knows nothing of this adapter: its driver may stop all requests while it waits, and its pool has the size that is written",
                     "try it with --probe; NB.offload { } around what blocks", guide: "docs/guides/activerecord.md")
        end

        def sqlite(configuration)
          Finding.of(:note, "sqlite", "database #{configuration.name} is SQLite: a statement computes with Ruby's lock, so that a long one stops all requests of its process",
                     "-w 2 or more, short statements, an index", guide: "docs/guides/sqlite.md")
        end

        # A size that somebody has chosen.
        def pool(name, size, subject, guide)
          all = size * subject.workers
          processes = "#{subject.workers} worker#{"s" unless subject.workers == 1}"
          return Finding.of(:warning, "pool-size",
                            "#{name}: #{processes} may open #{all} connections (#{size} each); a database takes #{SERVER_DEFAULT} to 151 unless told more",
                            "fewer connections each, fewer workers, or more of them in the database server", guide: guide) if all > SERVER_DEFAULT
          return unless size < subject.fibers && size <= DB::ActiveRecord::PoolSize::DEFAULT

          Finding.of(:note, "pool-size",
                     "#{name}: a pool of #{size} for up to #{subject.fibers} requests at once in each of #{subject.workers} processes: those beyond wait in line for a connection",
                     "10 to 30 for most databases, or a lower -f where nearly every request needs one", guide: guide)
        end

        def sequel(subject)
          return [] unless defined?(::Sequel::DATABASES)

          ::Sequel::DATABASES.filter_map do |database|
            type = database.adapter_scheme.to_s
            pool("Sequel (#{type})", database.opts.fetch(:max_connections, 4).to_i, subject, "docs/guides/sequel.md") unless type.include?("sqlite")
          end
        end
        private_class_method :active_record, :of_configuration, :automatic, :sqlite, :pool, :sequel
      end
    end
  end
end
