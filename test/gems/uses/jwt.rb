# frozen_string_literal: true

Gems.use "jwt" do
  requires "jwt"
  setup { KEY = OpenSSL::PKey::RSA.new(2048) }
  answer { |id|
    [JWT.decode(JWT.encode({ "id" => id }, "secret", "HS256"), "secret", true, algorithm: "HS256"),
     JWT.decode(JWT.encode({ "id" => id }, KEY, "RS256"), KEY.public_key, true,
                algorithm: "RS256").first]
  }
end
