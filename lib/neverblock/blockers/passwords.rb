# frozen_string_literal: true

# Password hashes, which take about 50 to 300 ms each. bcrypt releases Ruby's lock from 3.1.18 on
# (bcrypt-ruby/bcrypt-ruby#260), argon2 always does (lib/argon2/ffi_engine.rb, `blocking: true`).
# scrypt and OpenSSL::KDF (openssl 3.0 to 3.3: ext/openssl/ossl_kdf.c) hold it: no thread helps
# there, only workers do.

require "neverblock/blockers/gem"

module NeverBlock
  module Blockers
    gem "bcrypt", ">= 3.1.18", "< 4", owner: "BCrypt::Engine", singleton: true,
                                      names: %i[hash_secret]
    gem "argon2", ">= 2", "< 3", owner: "Argon2::Engine", singleton: true, names: %i[
      hash_argon2i hash_argon2id hash_argon2i_encode hash_argon2id_encode
      argon2_verify argon2i_verify
    ]
  end
end
