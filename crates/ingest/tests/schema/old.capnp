# Files of older recorders: the channel is one byte, in the same place.
@0xf2f6f1d0a2a47c11;

struct Tags {
  tags @0 :List(List(Tag));
}

struct Tag {
  time @0 :Int64;
  channel @1 :UInt8;
}
