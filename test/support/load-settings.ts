import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { loadConfig, type Loaded, type Variables } from '../../src/settings/config.ts'

/** Loads the variables and, if one is given, a gateway.yaml, which is written to `folder`. Throws a ConfigError. */
export function loadSettings(folder: string, variables: Variables, file?: object | string): Loaded {
  if (file === undefined) return loadConfig(variables)
  const path = join(folder, 'gateway.yaml')
  writeFileSync(path, typeof file === 'string' ? file : stringify(file))
  return loadConfig({ ...variables, CONFIG_FILE: path })
}
