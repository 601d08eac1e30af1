# Derives protobuf-c's dialect from the public contract: the same bytes on the wire, in words that
# protoc-c 1.4 takes. Run as: cmake -DIN=a.proto -DOUT=b.proto -P derive_proto.cmake
#   string -> bytes                  protobuf-c cuts strings at NUL
#   optional T x = n -> oneof        protobuf-c refuses proto3 optional
#   map<string,string> -> entries    a map is a repeated entry message
#   google.protobuf.Duration         stated here, so that nothing is imported
#   service, option                  left out
file(READ "${IN}" text)
string(REGEX REPLACE "//[^\n]*" "" text "${text}")
string(REGEX REPLACE "import [^\n]*\n" "" text "${text}")
string(REGEX REPLACE "option [^\n]*\n" "" text "${text}")
string(REGEX REPLACE "service [^{]*{[^}]*}" "" text "${text}")
string(REGEX REPLACE "optional ([a-z0-9]+) ([a-z_]+) = ([0-9]+);"
       "oneof _\\2 { \\1 \\2 = \\3; }" text "${text}")
string(REGEX REPLACE "map<string, string> ([a-z_]+) = ([0-9]+);"
       "repeated AttributesEntry \\1 = \\2;" text "${text}")
string(REGEX REPLACE "([\n{ ])string ([a-z_]+) = " "\\1bytes \\2 = " text "${text}")
string(REPLACE "google.protobuf.Duration" "Duration" text "${text}")
string(APPEND text "
message Duration { int64 seconds = 1; int32 nanos = 2; }
message AttributesEntry { bytes key = 1; bytes value = 2; }
")
string(REGEX REPLACE "\n[ \n]*\n" "\n" text "${text}")
file(WRITE "${OUT}" "// Derived from ${IN}; do not edit.\n${text}")
