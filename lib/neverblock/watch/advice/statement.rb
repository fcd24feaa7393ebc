# frozen_string_literal: true

# What the text of an SQL statement says: whether it reads alone. A SELECT that calls a function
# which is not known here may write; so may one whose function's name is put in when it runs.

module NeverBlock
  module Watch
    module Advice
      module Statement
        SQL = /\A\s*(\(\s*)*(select|with|values|table|show|explain|insert|update|delete|merge|
                             create|drop|alter|truncate|begin|start|commit|rollback|set|lock|call|
                             do|copy|listen|notify|replace|vacuum|pragma|use)\b/ix
        READ = /\A\s*(\(\s*)*(select|with|values|table|show|explain)\b/i
        # Looked for in the whole text, also in its literals.
        WRITE_INSIDE = /\b(insert\s+into|update\s+\S+\s+set|delete\s+from|merge\s+into|
                          for\s+(no\s+key\s+)?update|for\s+(key\s+)?share|nextval|setval|
                          advisory|get_lock|release_lock|set_config|last_insert_id|returning|
                          found_rows|lock\s+in\s+share)\b/ix
        # Looked for outside of literals: SELECT INTO, a variable that is set, WITH x AS (DELETE).
        WRITE_OUTSIDE = %r{\binto\b|:=|[()]\s*(insert|update|delete|merge)\b|/\*!}i
        # What is not looked into: literals, comments, quoted names.
        QUIET = %r{
          (?<literal>'(?:[^'\\]|\'\'|\\.)*'|\$(?<tag>\w*)\$.*?\$\k<tag>\$) |
          (?<comment>--[^\n]*|/\*(?!!).*?\*/) |
          (?<quoted>"[^"]*"|`[^`]*`)
        }mx

        # The name before a parenthesis; the word before the name.
        CALL = /(?:([a-z_]\w*)\s+|)(?<![\w.?$])([\w.?$]+)\s*\(/i
        # They are followed by a parenthesis, and are no functions.
        KEYWORDS = %w[
          all and any array as between by case cross cube default distinct else end except exists
          explain filter from group having ilike in inner intersect interval is join key lateral
          left like limit materialized not offset on only or order outer over partition range
          recursive right rollup rows select sets similar some table then to union unique using
          values when where window with within
          bit char character decimal float int numeric nvarchar precision time timestamp
          timestamptz varchar varying
        ].freeze
        # They tell the same again, change nothing, and need nothing that the connection did before.
        FUNCTIONS = %w[
          abs age any_value array_agg array_append array_cat array_length array_position
          array_remove array_to_json array_to_string ascii avg bit_and bit_count bit_length bit_or
          bool_and bool_or btrim cardinality cast cbrt ceil ceiling char_length character_length chr
          clock_timestamp coalesce col_description concat concat_ws convert convert_tz corr count
          covar_pop covar_samp cume_dist curdate current_database current_date current_schema
          current_time current_timestamp curtime database date date_add date_format date_part
          date_sub date_trunc datediff datetime day dayname dayofmonth dayofweek dayofyear decode
          degrees dense_rank div elt encode every exp extract field find_in_set first_value floor
          format from_unixtime gen_random_uuid generate_series greatest group_concat grouping hex
          hour if ifnull iif initcap instr isnull json_agg json_array json_array_elements
          json_array_elements_text json_array_length json_arrayagg json_build_array
          json_build_object json_contains json_each json_each_text json_extract json_extract_path
          json_extract_path_text json_length json_object json_object_agg json_object_keys
          json_objectagg json_search json_type json_unquote json_value jsonb_agg
          jsonb_array_elements jsonb_array_elements_text jsonb_array_length jsonb_build_array
          jsonb_build_object jsonb_each jsonb_each_text jsonb_extract_path jsonb_extract_path_text
          jsonb_object_agg jsonb_object_keys jsonb_path_exists jsonb_path_query jsonb_pretty
          jsonb_set jsonb_typeof julianday justify_days justify_hours justify_interval lag
          last_day last_value lcase lead least left length levenshtein ln localtime localtimestamp
          locate log log10 log2 lower lpad ltrim make_date make_interval make_timestamp match
          against max md5 mid min minute mod mode month monthname now nth_value ntile nullif nvl
          obj_description octet_length overlay percent_rank percentile_cont percentile_disc
          pg_column_size pg_database_size pg_get_indexdef pg_indexes_size pg_relation_size
          pg_size_pretty pg_sleep pg_table_size pg_total_relation_size pg_typeof
          phraseto_tsquery pi plainto_tsquery position pow power quarter quote quote_ident
          quote_literal radians rand random rank regexp_count regexp_like regexp_match
          regexp_matches regexp_replace regexp_split_to_array regexp_split_to_table regexp_substr
          repeat replace reverse round row row_number row_to_json rpad rtrim schema sec_to_time
          second sha1 sha2 sha256 sign similarity sin cos tan sleep soundex split_part sqrt
          st_area st_asgeojson st_astext st_buffer st_centroid st_contains st_distance
          st_distance_sphere st_dwithin st_geogfromtext st_geomfromtext st_intersects st_length
          st_makeenvelope st_makepoint st_point st_setsrid st_transform st_within st_x st_y
          statement_timestamp std stddev stddev_pop stddev_samp str_to_date strftime string_agg
          string_to_array strpos substr substring substring_index sum sysdate time time_to_sec
          timediff timestampdiff timezone to_char to_date to_days to_hex to_json to_jsonb to_number
          to_regclass to_timestamp to_tsquery to_tsvector total transaction_timestamp translate
          trim trunc truncate ts_headline ts_rank ts_rank_cd typeof ucase unaccent unhex
          unix_timestamp unixepoch unnest upper utc_timestamp uuid uuid_generate_v4 var_pop
          var_samp variance version websearch_to_tsquery week weekday width_bucket
          word_similarity xmlagg year yearweek
        ].freeze
        KNOWN = (KEYWORDS + FUNCTIONS).to_h { |name| [name, true] }.freeze
        # A name after these is a table's or a window's, with its columns.
        NAMING = %w[as recursive window].freeze

        module_function

        # @param texts [Array<String>] literals that the call may be given
        # @return [Symbol] :read, :write, or :unknown where none is SQL
        def told(texts)
          statements = texts.grep(SQL)
          return :unknown if statements.empty?

          statements.all? { |text| read?(text) } ? :read : :write
        end

        # @param text [String] one statement, or several
        # @return [Boolean] whether it changes nothing
        def read?(text)
          return false if WRITE_INSIDE.match?(text)

          bare = without_literals(text)
          return false if WRITE_OUTSIDE.match?(bare)

          bare.split(";").reject { |part| part.strip.empty? }
              .all? { |part| READ.match?(part) && known_functions?(part) }
        end

        def without_literals(text)
          text.gsub(QUIET) do
            next "''" if $~[:literal]

            $~[:comment] ? " " : "quoted_name"
          end
        end
        private_class_method :without_literals

        def known_functions?(text)
          named = text.scan(/(\w+)\s*\([^()]*\)\s+as\s*(?:(?:not\s+)?materialized\s*)?\(/i).flatten
          text.scan(CALL).all? do |before, name|
            KNOWN[name.downcase.delete_prefix("pg_catalog.")] ||
              NAMING.include?(before&.downcase) || named.include?(name)
          end
        end
        private_class_method :known_functions?
      end
    end
  end
end
