# What a `.tags` file holds: one message after another, each with the root `Tags`.
@0xd932ef88b339497e;

struct Tags @0xb1642a9902d01394 {
  tags @0 :List(List(Tag));
}

struct Tag @0x8995b3a3aece585b {
  time @0 :Int64;      # in ticks of the instrument
  channel @1 :UInt64;  # which of its inputs
}
