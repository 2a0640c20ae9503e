# What a newer schema could look like: elements with more words and with pointers, a root with more
# fields before and behind.
@0x98aeb1b5d4b0a1e3;

struct Tags {
  tags @0 :List(List(Tag));
  session @1 :UInt64;
  note @2 :Text;
}

struct Tag {
  time @0 :Int64;
  channel @1 :UInt64;
  quality @2 :Float64;
  note @3 :Text;
}
