import {
  OperationNodeTransformer,
  RawNode,
  type DataTypeNode,
  type KyselyPlugin,
  type OperationNode,
} from 'kysely'

/** Column type for texts that PostgreSQL compares byte by byte in any locale, as SQLite does. */
export const binaryText = 'text collate "C"'

class Transformer extends OperationNodeTransformer {
  override transformNode<T extends OperationNode | undefined>(node: T): T {
    if (node?.kind === 'DataTypeNode' && (node as unknown as DataTypeNode).dataType === 'text') {
      // Kysely accepts a RawNode as the type of a column.
      return RawNode.createWithSql(binaryText) as unknown as T
    }
    return super.transformNode(node)
  }
}

const transformer = new Transformer()

/** Gives text columns of migrations the type `binaryText`. */
export const binaryTexts: KyselyPlugin = {
  transformQuery: ({ node }) => transformer.transformNode(node),
  transformResult: async ({ result }) => result,
}
