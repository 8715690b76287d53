import { messages, type FieldType, type Message } from './messages.ts'

type Decoded = Record<string, unknown>

/** Decodes an OTLP message from protobuf; throws for an invalid message. */
export function decodeProtobuf(bytes: Buffer, type: keyof typeof messages): Decoded {
  const reader = readerOf(bytes)
  const fields: Message = messages[type]
  const decoded: Decoded = {}
  while (!reader.isOver()) {
    const tag = reader.varint()
    const [name, fieldType, list] = fields[Number(tag >> 3n)] ?? unknown(type, `${tag >> 3n}`)
    const wire = Number(tag & 7n)
    if (list === undefined && name in decoded) throw new Error(`${type}.${name} is there twice.`)
    if (list === undefined) decoded[name] = valueOf(reader, wire, fieldType)
    else (decoded[name] ??= [] as unknown[]) as unknown[]
    if (list !== undefined) (decoded[name] as unknown[]).push(...valuesOf(reader, wire, fieldType))
  }
  return decoded
}

/** Checks an OTLP message in JSON, and returns it in the form that `decodeProtobuf` returns. */
export function checkJson(value: unknown, type: keyof typeof messages): Decoded {
  if (typeof value !== 'object' || value === null) throw new Error(`${type} is no object.`)
  const fields = new Map(
    Object.values<readonly [string, FieldType, 'list'?]>(messages[type]).map((one) => [
      one[0],
      one,
    ]),
  )
  return Object.fromEntries(
    Object.entries(value).map(([name, given]) => {
      const [, fieldType, list] = fields.get(name) ?? unknown(type, name)
      if (list === undefined) return [name, jsonValue(given, fieldType)]
      if (!Array.isArray(given)) throw new Error(`${type}.${name} is no list.`)
      return [name, given.map((one: unknown) => jsonValue(one, fieldType))]
    }),
  )
}

function jsonValue(given: unknown, type: FieldType): unknown {
  if (type in messages) return checkJson(given, type as keyof typeof messages)
  if (type === 'fixed64') return Number(given)
  const isNumber = ['int', 'fixed32', 'double', 'float'].includes(type)
  const expected = isNumber ? 'number' : type === 'bool' ? 'boolean' : 'string'
  if (typeof given !== expected) throw new Error(`${String(given)} is no ${type}.`)
  if (type === 'bytes' && !/^([0-9a-f]{16}|[0-9a-f]{32})$/.test(String(given))) {
    throw new Error(`${String(given)} is no id.`)
  }
  return given
}

type Reader = ReturnType<typeof readerOf>

function valuesOf(reader: Reader, wire: number, type: FieldType): unknown[] {
  const isPacked = wire === 2 && ['fixed64', 'double'].includes(type)
  if (!isPacked) return [valueOf(reader, wire, type)]
  const packed = readerOf(reader.bytes())
  const values: unknown[] = []
  while (!packed.isOver()) values.push(valueOf(packed, 1, type))
  return values
}

const wires: Partial<Record<FieldType, number>> = {
  int: 0,
  bool: 0,
  fixed64: 1,
  double: 1,
  fixed32: 5,
}

function valueOf(reader: Reader, wire: number, type: FieldType): unknown {
  const expected = wires[type] ?? 2
  if (wire !== expected) throw new Error(`${type} has the wire type ${wire}.`)
  if (type === 'bool') return reader.varint() !== 0n
  if (type === 'int') return Number(BigInt.asIntN(64, reader.varint()))
  if (type === 'fixed64') return Number(reader.fixed(8).readBigUInt64LE())
  if (type === 'double') return reader.fixed(8).readDoubleLE()
  if (type === 'fixed32') return reader.fixed(4).readUInt32LE()
  const bytes = reader.bytes()
  if (type === 'string') return new TextDecoder('utf8', { fatal: true }).decode(bytes)
  if (type === 'bytes') return bytes.toString('hex')
  return decodeProtobuf(bytes, type as keyof typeof messages)
}

function readerOf(bytes: Buffer) {
  let at = 0
  const fixed = (length: number): Buffer => {
    if (at + length > bytes.length) throw new Error('The message is cut off.')
    at += length
    return bytes.subarray(at - length, at)
  }
  const varint = (): bigint => {
    let value = 0n
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = fixed(1)[0]!
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
    throw new Error('A number is too long.')
  }
  return {
    isOver: () => at === bytes.length,
    fixed,
    varint,
    bytes: () => fixed(Number(varint())),
  }
}

function unknown(type: string, field: string): never {
  throw new Error(`${type} has no field ${field}.`)
}
