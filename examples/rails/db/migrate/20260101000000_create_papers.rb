# frozen_string_literal: true

class CreatePapers < ActiveRecord::Migration[7.1]
  def change
    create_table :papers do |t|
      t.string :title, null: false
      t.integer :pages, null: false
      t.timestamps
    end
  end
end
