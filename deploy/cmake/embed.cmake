# Writes a file's bytes as a C array. Run as:
#   cmake -DIN=a.bin -DOUT=a.c -DNAME=symbol -DHEADER=a.h -P embed.cmake
file(READ "${IN}" hex HEX)
string(LENGTH "${hex}" digits)
math(EXPR size "${digits} / 2")
string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
file(WRITE "${OUT}" "/* Made from the .proto files; do not edit. */
#include <${HEADER}>

const unsigned char ${NAME}[] = {
${bytes}
};
const unsigned long ${NAME}_size = ${size};
")
