import { banner, nameIn, resolved, type Document, type Schema } from './document.ts'

type Properties = Record<string, Schema>
/** The members of an object, and those of its member with the name of its type. */
type Typed = { own: string[]; within?: string[] }

/** The text of `chat-members.ts`: the members that the contract has for messages, tools and options of chats. */
export function chatMembersFile(document: Document): string {
  const { schemas } = document.components
  const propertiesOf = (schema: Schema | undefined) =>
    (schema && (resolved(document, schema)['properties'] as Properties | undefined)) ?? {}
  const typed = (name: string): Record<string, Typed> => {
    const { mapping } = schemas[name]!['discriminator'] as { mapping: Record<string, string> }
    return Object.fromEntries(
      Object.entries(mapping).map(([type, reference]) => {
        const properties = propertiesOf(schemas[nameIn(reference)])
        const within = Object.keys(propertiesOf(properties[type]))
        const own = Object.keys(properties)
        return [type, within.length === 0 ? { own } : { own, within }]
      }),
    )
  }
  const members = {
    messages: typed('ChatMessage'),
    parts: typed('ContentPart'),
    calls: typed('ToolCall'),
    tools: typed('Tool'),
    jsonSchema: Object.keys(propertiesOf(propertiesOf(schemas['JsonSchemaFormat'])['json_schema'])),
    streamOptions: Object.keys(propertiesOf(schemas['StreamOptions'])),
  }
  return `${banner}
type Typed = Readonly<Record<string, { own: readonly string[]; within?: readonly string[] }>>

/** Members in the contract, by the role of a message or the type of a part, a call or a tool. */
export const chatMembers: {
  messages: Typed
  parts: Typed
  calls: Typed
  tools: Typed
  jsonSchema: readonly string[]
  streamOptions: readonly string[]
} = ${JSON.stringify(members, null, 2)}
`
}
