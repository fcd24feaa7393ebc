# frozen_string_literal: true

# Sizes of connection pools, compared with the number of concurrent requests. No database is
# contacted.

require "neverblock/check/finding"
require "neverblock/db/active_record/pool_size"

module NeverBlock
  module Check
    module Rules
      module Database
        # Default of max_connections in PostgreSQL; MariaDB and MySQL have 151.
        SERVER_DEFAULT = 100

        module_function

        PoolSize = DB::ActiveRecord::PoolSize
        AUTOMATIC = [nil, "auto", PoolSize::DEFAULT, PoolSize::DEFAULT.to_s].freeze
        private_constant :PoolSize, :AUTOMATIC

        # @return [Array<Finding>]
        def call(subject)
          [*active_record(subject), *sequel(subject)]
        end

        def active_record(subject)
          return [] unless defined?(::ActiveRecord::Base) && defined?(::Rails.env)

          found = ::ActiveRecord::Base.configurations.configs_for(env_name: ::Rails.env.to_s)
          found.flat_map { |configuration| of_configuration(configuration, subject) }
        end

        def of_configuration(configuration, subject)
          adapter = configuration.adapter.to_s
          return [sqlite(configuration)] if adapter.include?("sqlite")

          hash = configuration.configuration_hash
          written = hash.fetch(:max_connections) { hash[:pool] }
          name = "database #{configuration.name} (#{adapter})"
          return [automatic(name, adapter)].compact if AUTOMATIC.include?(written)

          [pool(name, written.to_i, subject, "docs/guides/activerecord.md")].compact
        end

        def automatic(name, adapter)
          return if adapter.match?(/postg|mysql|trilogy/)

          Finding.of(:warning, "adapter",
                     "#{name}: NeverBlock does not know this adapter: its driver may block all " \
                     "requests while it waits, and its pool has the configured size",
                     "try it with --probe; wrap what blocks in NB.offload { }",
                     guide: "docs/guides/activerecord.md")
        end

        def sqlite(configuration)
          Finding.of(:note, "sqlite",
                     "database #{configuration.name} is SQLite: a statement runs with Ruby's " \
                     "lock held, so that a long one blocks all requests of its process",
                     "-w 2 or more, short statements, an index", guide: "docs/guides/sqlite.md")
        end

        # A pool whose size is configured.
        def pool(name, size, subject, guide)
          return too_many(name, size, subject, guide) if size * subject.workers > SERVER_DEFAULT
          return unless size < subject.fibers && size <= PoolSize::DEFAULT

          Finding.of(:note, "pool-size",
                     "#{name}: a pool of #{size} for up to #{subject.fibers} requests at once in " \
                     "each of #{subject.workers} processes: the others wait for a connection",
                     "10 to 30 for most databases, or a lower -f where nearly every request " \
                     "needs one", guide: guide)
        end

        def too_many(name, size, subject, guide)
          processes = "#{subject.workers} worker#{"s" unless subject.workers == 1}"
          Finding.of(:warning, "pool-size",
                     "#{name}: #{processes} may open #{size * subject.workers} connections " \
                     "(#{size} each); by default a database accepts #{SERVER_DEFAULT} to 151",
                     "fewer connections each, fewer workers, or a higher limit of the database",
                     guide: guide)
        end

        def sequel(subject)
          return [] unless defined?(::Sequel::DATABASES)

          ::Sequel::DATABASES.filter_map do |database|
            type = database.adapter_scheme.to_s
            next if type.include?("sqlite")

            size = database.opts.fetch(:max_connections, 4).to_i
            pool("Sequel (#{type})", size, subject, "docs/guides/sequel.md")
          end
        end
        private_class_method :active_record, :of_configuration, :automatic, :sqlite, :pool,
                             :too_many, :sequel
      end
    end
  end
end
