mod wires;
