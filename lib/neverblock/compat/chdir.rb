# frozen_string_literal: true

# The working folder belongs to the process. While the block of a Dir.chdir runs, Ruby refuses the
# chdir of every other thread (dir.c, chdir_thread); it does not tell the fibers of a thread apart.
# Two requests' blocks that overlap would write to each other's folders, and leave the process in
# one of them. Here the fibers of another request are refused as other threads are. All Rubies.

module NeverBlock
  module Compat
    module Chdir
      CONFLICT = "conflicting chdir during another chdir block"
      # The open blocks of a thread, all of them of one root fiber.
      Blocks = Struct.new(:root, :count)
      private_constant :CONFLICT, :Blocks

      class << self
        # Calls the block, which changes the folder.
        # @param held [Boolean] whether the change has a block, until whose end others are refused
        # @raise [RuntimeError] while another request has a block of its own
        def call(held, &block)
          Compat.unsliced do |around|
            blocks = blocks_of(Thread.current)
            raise CONFLICT if blocks.count.positive? && !blocks.root.equal?(Scheduler.root)

            held ? hold(blocks) { around.call(block) } : around.call(block)
          end
        end

        # @return [Module] has those of the methods that the owner has
        def around(owner)
          Module.new do
            (%i[chdir fchdir] & owner.instance_methods(false)).each do |name|
              define_method(name) do |*arguments, &block|
                next super(*arguments, &block) unless Compat.scheduler

                Chdir.call(!block.nil?) { super(*arguments, &block) }
              end
            end
          end
        end

        private

        def blocks_of(thread)
          thread.instance_variable_get(:@neverblock_chdir) ||
            thread.instance_variable_set(:@neverblock_chdir, Blocks.new(nil, 0))
        end

        def hold(blocks)
          blocks.root = Scheduler.root
          blocks.count += 1
          yield
        ensure
          blocks.count -= 1
        end
      end

      Dir.singleton_class.prepend(around(Dir.singleton_class))
      Dir.prepend(around(Dir))
    end
  end
end
