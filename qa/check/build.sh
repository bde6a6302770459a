#!/bin/sh
# build.sh FOLDER: compiles the corpus there, with the compilers that are present.
here=$(dirname "$0"); out=$1; mkdir -p "$out"
for kind in faulty clean; do
	for file in "$here/$kind"/*; do
		name=$kind/$(basename "$file"); name=${name%.*}
		mkdir -p "$out/$kind"
		case $file in
		*.c) gcc -g -O1 -o "$out/$name" "$file" -pthread ;;
		*.cpp) g++ -g -O1 -o "$out/$name" "$file" -pthread ;;
		*.rs) rustc --edition 2024 -g -C opt-level=1 -o "$out/$name" "$file" ;;
		esac || exit 1
	done
done
