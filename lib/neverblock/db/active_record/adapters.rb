# frozen_string_literal: true

# The adapters' names: neverblock_postgresql, neverblock_mysql2, neverblock_trilogy. Each adapter is
# a subclass of ActiveRecord's own. What ActiveRecord looks up by the name in database.yml (types,
# the scheme of a URL, the class) finds that adapter's. The tasks (db:create and others) and the
# adapter files of 7.1 use patterns that match.

module NeverBlock
  module DB
    module ActiveRecord
      module Adapters
        PREFIX = "neverblock_"
        CLASSES = {
          "postgresql" => "NeverblockPostgreSQLAdapter",
          "mysql2" => "NeverblockMysql2Adapter",
          "trilogy" => "NeverblockTrilogyAdapter"
        }.freeze
        private_constant :PREFIX, :CLASSES

        class << self
          # Registers the names, once.
          # @return [void]
          def register
            return if @registered

            @registered = true
            register_classes if ::ActiveRecord::ConnectionAdapters.respond_to?(:register) # 7.2
            ::ActiveSupport.on_load(:active_record) do
              ::ActiveRecord::Type.singleton_class.prepend(TypeNames)
            end
            require "active_record/database_configurations"
            ::ActiveRecord::DatabaseConfigurations::ConnectionUrlResolver.prepend(UrlScheme)
          end

          # Calls the block. When the file with ActiveRecord's list of adapters has been loaded,
          # registers ours. Neither ActiveRecord nor Ruby 3.1 has a hook for that moment. The line
          # `require "neverblock"` in a Gemfile has no effect where the command has loaded it
          # before.
          # @return what the block returns
          def watching
            watch = TracePoint.new(:end) do |trace|
              next unless trace.path.end_with?("active_record/connection_adapters.rb") &&
                          trace.self.name == "ActiveRecord::ConnectionAdapters"

              watch.disable
              register
            end
            watch.enable
            yield
          ensure
            watch&.disable
          end

          private

          def register_classes
            CLASSES.each do |name, adapter|
              ::ActiveRecord::ConnectionAdapters.register(
                "#{PREFIX}#{name}",
                "ActiveRecord::ConnectionAdapters::#{adapter}",
                "active_record/connection_adapters/#{PREFIX}#{name}_adapter"
              )
            end
          end
        end

        # Types are registered for :postgresql, :mysql2, :trilogy.
        module TypeNames
          def adapter_name_from(model)
            super.name.delete_prefix(PREFIX).to_sym
          end
        end

        # A URL's scheme has no underscore (RFC 3986, section 3.1). ActiveRecord reads a hyphen as
        # one.
        module UrlScheme
          def initialize(url)
            super(url.to_s.sub(/\A#{PREFIX}(?=\w+:)/o) { |prefix| prefix.tr("_", "-") })
          end
        end
      end
    end
  end
end
