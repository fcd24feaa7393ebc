# frozen_string_literal: true

Gems.use "money" do
  requires "money"
  setup do
    Money.locale_backend = nil
    Money.rounding_mode = BigDecimal::ROUND_HALF_UP
    Money.default_currency = "EUR"
    Money.default_bank.add_rate("EUR", "USD", 1.5)
  end
  answer do |id|
    Money.with_rounding_mode(BigDecimal::ROUND_DOWN) do
      [Hunt.nap && Money.new(id.sum * 7).exchange_to("USD").cents, Money.new(id.sum).format,
       (Money.new(100) / 3).cents]
    end
  end
end
