# frozen_string_literal: true

Gems.use "mail" do
  requires "mail"
  setup { Mail.defaults { delivery_method :test } }
  answer do |id|
    mail = Mail.new { to("#{id}@example.org") && from("a@example.org") && subject("ü #{id}") && body("text #{id}") }
    Mail.new(mail.to_s.gsub(/^(Date|Message-ID):.*\r\n/, "")).then { |read| [read.to, read.subject, read.body.decoded] }
  end
end
