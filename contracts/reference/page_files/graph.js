// The lineage graph of a pipeline, as it was laid out.

/** The graph; where stages are named, these stand out. */
function graph() {
  return null;
}
