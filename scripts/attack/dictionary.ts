import { readFileSync } from 'node:fs'
import { parse } from 'yaml'

type Dictionary = {
  numbers: number[]
  texts: string[]
  members: string[]
  jsonNumbers: string[]
  jsonFronts: string[]
  jsonEnds: string[]
  contentTypes: string[]
  headerNames: string[]
  headerValues: string[]
  queryValues: string[]
  queryNames: string[]
  pathEnds: string[]
  methods: string[]
  fieldNames: string[]
  fieldValues: string[]
  fileNames: string[]
  dispositions: string[]
  toolMethods: string[]
  wireMethods: string[]
  wireAddresses: string[]
  wireVersions: string[]
  wireFields: string[]
  chunkSizes: string[]
  lineEnds: string[]
}

/** The values of dictionary.yaml, which the fuzzers send. */
export const dictionary = parse(
  readFileSync(new URL('./dictionary.yaml', import.meta.url), 'utf8'),
) as Dictionary
