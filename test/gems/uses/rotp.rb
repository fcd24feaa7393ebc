# frozen_string_literal: true

Gems.use "rotp" do
  requires "rotp"
  answer { |id| ROTP::TOTP.new("base32secret3232").then { |totp| [totp.at(id.sum * 30), totp.verify(totp.at(900), at: 900)] } }
end
