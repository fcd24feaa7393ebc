# frozen_string_literal: true

# One certificate from an ACME server, by the gem acme-client: account, order, challenges, request,
# certificate (RFC 8555 section 7). Blocks all the while, on the thread of Acme.

require "neverblock/tls/acme/failed"
require "neverblock/tls/chain"

module NeverBlock
  module TLS
    class Acme
      class Issuance
        KINDS = { http_01: "http-01", tls_alpn_01: "tls-alpn-01" }.freeze
        # Times that a request is sent again when the server refuses its nonce (RFC 8555 section
        # 6.5). Each refusal brings a fresh one.
        NONCES = 10
        # Seconds for a request to the ACME server: to connect, and to be answered.
        CONNECT_S = 10
        ANSWER_S = 60
        # Seconds that an order or a validation is waited for.
        RESULT_S = 300
        # Seconds between two looks at it: doubled from the first to the last, unless the server
        # says how long (RFC 8555 section 7.5.1).
        LOOKS_S = (0.25..5.0).freeze
        LOOK_MOST_S = 60
        private_constant :KINDS, :NONCES, :CONNECT_S, :ANSWER_S, :RESULT_S, :LOOKS_S, :LOOK_MOST_S

        # @param order [Config::Acme]
        # @param folder [Folder]
        # @param answers [Answers]
        # @param kinds [Array<Symbol>] challenges to try, one after the other
        # @param pause [#call] waits so many seconds; raises when the server ends
        def initialize(order, folder, answers, kinds, pause)
          @order = order
          @folder = folder
          @answers = answers
          @kinds = kinds
          @pause = pause
        end

        # @param replaced [Kept, nil] the certificate that the new one comes after
        # @return [String] PEM: the key, and the certificates
        # @raise [Failed]
        def call(replaced = nil)
          told do
            contact = @order.email ? ["mailto:#{@order.email}"] : []
            client.new_account(contact: contact, terms_of_service_agreed: true)
            issue_by_some_kind(replaced)
          end
        end

        # When the ACME server wants the certificate to be renewed (RFC 9773).
        # @param kept [Kept]
        # @return [Array(Time, Time)] when to renew, and when to ask again; nil: it does not say
        # @raise [Failed]
        def renewal_times(kept)
          told do
            next [nil, nil] unless knows_renewal_times?

            info = client.renewal_info(certificate: kept.certificate)
            [info.suggested_renewal_time, info.retry_after_time]
          end
        rescue ArgumentError
          [nil, nil] # the certificate names no authority
        end

        private

        def client
          @client ||= ::Acme::Client.new(
            private_key: @folder.account_key, directory: @order.directory,
            connection_options: { request: { open_timeout: CONNECT_S, timeout: ANSWER_S },
                                  ssl: { ca_file: @order.ca }.compact },
            bad_nonce_retry: NONCES
          )
        end

        # The gem knows of it from 2.0.19 on, and not every server does.
        def knows_renewal_times?
          client.respond_to?(:renewal_info) && !!client.directory.endpoint_for(:renewal_info)
        rescue ::Acme::Client::Error::UnsupportedOperation
          false
        end

        # A validation that has failed ends its order (RFC 8555 section 7.1.6), so that the next
        # kind needs another.
        def issue_by_some_kind(replaced)
          failures = []
          @kinds.each do |kind|
            return issue(kind, replaced)
          rescue NotValidated => e
            failures << e.message
          end
          raise NotValidated, failures.join("; ")
        end

        def issue(kind, replaced)
          order = new_order(replaced)
          validate(order, kind)
          key = OpenSSL::PKey::EC.generate("prime256v1")
          finalize(order, key)
          checked(order.certificate, key)
        end

        # A server may refuse that it replaces another, which it has not issued, has forgotten (RFC
        # 9773 section 5) or has issued to another account. Each server has its own error for that.
        def new_order(replaced)
          id = replaced && ari_id(replaced)
          return client.new_order(identifiers: @order.names) unless id

          begin
            client.new_order(identifiers: @order.names, replaces: id)
          rescue ::Acme::Client::Error::RateLimited, ::Acme::Client::Error::BadNonce,
                 ::Acme::Client::Error::Timeout
            raise
          rescue ::Acme::Client::Error
            client.new_order(identifiers: @order.names)
          end
        end

        def ari_id(kept)
          return unless knows_renewal_times?

          ::Acme::Client::Util.ari_certificate_identifier(kept.certificate)
        rescue ArgumentError
          nil # it names no authority
        end

        # --- challenges

        def validate(order, kind)
          open = order.authorizations.reject { |one| one.status == "valid" }
          challenges = open.to_h { |one| [one.domain, challenge_of(one, kind)] }
          return if challenges.empty?

          @answers.while_asked(kind, challenges) do
            challenges.each_value(&:request_validation)
            open.each { |one| await_validation(one, kind) }
          end
        end

        def challenge_of(authorization, kind)
          found = offered(authorization).find { |_, type| type == KINDS.fetch(kind) }&.first
          return found if found

          raise NotValidated,
                "#{authorization.domain}: the ACME server does not offer #{named(kind)}"
        end

        # The gem has no class for tls-alpn-01, and drops its name.
        def offered(authorization)
          authorization.challenges.zip(authorization.to_h.fetch(:challenges).map { |one|
            one["type"]
          })
        end

        def await_validation(authorization, kind)
          await(authorization, %w[pending], "the validation of #{authorization.domain}")
          return if authorization.status == "valid"

          error = authorization.to_h.fetch(:challenges).filter_map { |one| one["error"] }.first
          raise NotValidated,
                "#{authorization.domain} by #{named(kind)}: #{detail(error, authorization)}"
        end

        def named(kind)
          KINDS.fetch(kind).upcase
        end

        def detail(error, resource)
          error&.fetch("detail", nil) || "the ACME server calls it #{resource.status}"
        end

        # --- the order

        def finalize(order, key)
          await(order, %w[pending], "the order")
          wrong(order) unless order.status == "ready"
          order.finalize(csr: ::Acme::Client::CertificateRequest.new(names: @order.names,
                                                                     private_key: key))
          await(order, %w[ready processing], "the order")
          wrong(order) unless order.status == "valid"
        end

        def wrong(order)
          raise Failed, "the order has failed: #{detail(order.error, order)}"
        end

        # Until its status is another one.
        def await(resource, statuses, what)
          waited = 0
          wait = LOOKS_S.begin
          while statuses.include?(resource.status)
            raise Failed, "#{what} is #{resource.status} for #{waited.round} s" if waited > RESULT_S

            pause = retry_after(resource) || wait
            @pause.call(pause)
            waited += pause
            wait = [wait * 2, LOOKS_S.end].min
            resource.reload
          end
        end

        def retry_after(resource)
          time = resource.respond_to?(:retry_after_time) && resource.retry_after_time
          time && (time - Time.now).clamp(LOOKS_S.begin, LOOK_MOST_S)
        end

        # What is written replaces a certificate that works, so the whole chain is read.
        def checked(chain, key)
          certificates = Chain.read(chain.to_s, "the answer of the ACME server")
          first = certificates.first
          missing = @order.names - Identity.names_of(first)
          unless first.check_private_key(key) && missing.empty? && first.not_after > Time.now
            raise Failed, "the ACME server has sent a certificate for another key, other names " \
                          "or another time"
          end

          [key.private_to_pem, *certificates.map(&:to_pem)].join
        rescue Unusable => e
          raise Failed, e.message
        end

        # --- what has gone wrong

        # @raise [Failed] with what the gem, or what it is made with, says
        def told
          yield
        rescue ::Acme::Client::Error::Timeout => e
          raise Failed, "#{@order.directory} cannot be reached: #{reason(e.cause || e)}"
        rescue ::Acme::Client::Error => e
          raise Failed.new(refusal(e), not_before(e))
        rescue ::Faraday::SSLError => e
          raise Failed, "#{@order.directory} is not trusted: #{reason(e)}; ca: names a file with " \
                        "what to trust it by"
        rescue ::Faraday::Error => e
          raise Failed, "#{@order.directory} cannot be reached: #{reason(e)}"
        end

        def refusal(error)
          parts = error.respond_to?(:subproblems) ? error.subproblems : []
          more = parts.filter_map { |part| part.detail || part.type }
          ["the ACME server refuses: #{reason(error)}", *more].join("; ")
        end

        def not_before(error)
          error.retry_after_time if error.respond_to?(:retry_after_time)
        end

        def reason(error)
          text = error.message.to_s.gsub(/\s+/, " ").strip
          text.empty? ? error.class.name : text[0, 400]
        end
      end
    end
  end
end
