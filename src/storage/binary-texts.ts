import {
  OperationNodeTransformer,
  RawNode,
  type DataTypeNode,
  type KyselyPlugin,
  type OperationNode,
} from 'kysely'

/** The type of texts that are compared byte by byte, as SQLite does, whatever the locale of a server. */
export const binaryText = 'text collate "C"'

class Transformer extends OperationNodeTransformer {
  override transformNode<T extends OperationNode | undefined>(node: T): T {
    if (node?.kind === 'DataTypeNode' && (node as unknown as DataTypeNode).dataType === 'text') {
      // Kysely takes either for the type of a column.
      return RawNode.createWithSql(binaryText) as unknown as T
    }
    return super.transformNode(node)
  }
}

const transformer = new Transformer()

/** Creates the columns of migrations so. */
export const binaryTexts: KyselyPlugin = {
  transformQuery: ({ node }) => transformer.transformNode(node),
  transformResult: async ({ result }) => result,
}
