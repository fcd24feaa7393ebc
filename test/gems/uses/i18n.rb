# frozen_string_literal: true

Gems.use "i18n" do
  requires "i18n"
  setup do
    I18n.available_locales = %i[en de]
    I18n.backend.store_translations(:en, hello: "Hello %{name}")
    I18n.backend.store_translations(:de, hello: "Hallo %{name}")
  end
  answer do |id|
    I18n.with_locale(%i[en de][id.sum % 2]) { Hunt.nap && [I18n.t(:hello, name: id), I18n.locale] }
  end
end
