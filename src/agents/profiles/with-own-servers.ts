import type { McpServer } from "../../contracts/mcp-server.ts";
import type { ProfileLayer } from "./profile-layer.ts";
import type { ProfileSource, SourceContent } from "./profile-source.ts";

/** A source of the person's own: its servers may name the folder that they start in. */
export function withOwnServers(source: ProfileSource): ProfileSource {
  let before: SourceContent | undefined;
  let marked: SourceContent | undefined;
  return {
    read() {
      const content = source.read();
      if (marked === undefined || content !== before) {
        marked = { ...content, layers: content.layers.map(ownLayer) };
      }
      before = content;
      return marked;
    },
  };
}

/** The layer, with its servers marked as declared by the person or their program. */
export function ownLayer(layer: ProfileLayer): ProfileLayer {
  const { servers } = layer.fields;
  if (servers === undefined) return layer;
  const own = Object.entries(servers).map(([name, server]) => [name, ownServer(server)]);
  return { ...layer, fields: { ...layer.fields, servers: Object.fromEntries(own) } };
}

function ownServer(server: McpServer): McpServer {
  return server.kind === "stdio" ? { ...server, isOwn: true } : server;
}
