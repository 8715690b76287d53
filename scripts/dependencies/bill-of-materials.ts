/**
 * `npm run -s sbom > sbom.json`: prints the bill of materials of production as CycloneDX JSON, from the lock
 * file, for all platforms. Without serial number and time, so that the same lock file gives the same bytes.
 * `npm sbom --omit dev` would omit packages that development tools need too.
 */
import { Enums, Models, Serialize, Spec } from '@cyclonedx/cyclonedx-library'
import {
  bundledPackages,
  directNeeds,
  keptPackages,
  productionPackages,
  readJson,
  type KeptPackage,
  type LockedPackage,
} from './production.ts'

type Project = { name: string; version: string; license: string; description: string }

export const specification = Spec.Spec1dot6

/** The bill of materials as JSON. */
export function billOfMaterials(): string {
  const project = readJson<Project>('package.json')
  const application = new Models.Component(Enums.ComponentType.Application, project.name, {
    bomRef: project.name,
    version: project.version,
    description: project.description,
    licenses: new Models.LicenseRepository([licenceOf(project.license)]),
  })
  const metadata = new Models.Metadata({
    component: application,
    lifecycles: new Models.LifecycleRepository([Enums.LifecyclePhase.PreBuild]),
  })
  const bom = new Models.Bom({ metadata })
  const installed = productionPackages()
  const components = new Map<string, Models.Component>()
  for (const one of installed) {
    const id = `${one.name}@${one.version}`
    const isOptional = one.optional === true || one.devOptional === true
    const known = components.get(id) ?? componentOf(one, isOptional)
    if (!isOptional) known.scope = Enums.ComponentScope.Required
    components.set(id, known)
  }
  const idAt = new Map(installed.map(({ path, name, version }) => [path, `${name}@${version}`]))
  const at = (path: string) => components.get(idAt.get(path)!)!
  for (const { path, needs } of installed) {
    for (const need of needs) at(path).dependencies.add(at(need).bomRef)
  }
  for (const need of directNeeds()) application.dependencies.add(at(need).bomRef)
  for (const kept of keptPackages()) {
    const component = componentOf(kept, false)
    component.properties.add(new Models.Property('gateway:kept-in', kept.folder))
    components.set(component.bomRef.value!, component)
    application.dependencies.add(component.bomRef)
  }
  for (const one of bundledPackages()) {
    const component = components.get(`${one.name}@${one.version}`) ?? componentOf(one, false)
    component.properties.add(new Models.Property('gateway:bundled-in', 'dashboard'))
    components.set(component.bomRef.value!, component)
    application.dependencies.add(component.bomRef)
  }
  for (const component of components.values()) bom.components.add(component)
  const serializer = new Serialize.JsonSerializer(
    new Serialize.JSON.Normalize.Factory(specification),
  )
  return `${serializer.serialize(bom, { sortLists: true, space: 2 })}\n`
}

type Described = Pick<LockedPackage | KeptPackage, 'version' | 'license' | 'integrity'> & {
  name: string
}

function componentOf(
  { name, version, license, integrity }: Described,
  isOptional: boolean,
): Models.Component {
  const [group, own = ''] = name.includes('/') ? name.split('/') : [undefined, name]
  const component = new Models.Component(Enums.ComponentType.Library, own, {
    bomRef: `${name}@${version}`,
    version,
    purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
    scope: isOptional ? Enums.ComponentScope.Optional : Enums.ComponentScope.Required,
  })
  if (group !== undefined) component.group = group
  if (license !== undefined) component.licenses.add(licenceOf(license))
  const digest = /^sha512-(.+)$/.exec(integrity ?? '')?.[1]
  if (digest !== undefined) {
    component.hashes.set(
      Enums.HashAlgorithm['SHA-512'],
      Buffer.from(digest, 'base64').toString('hex'),
    )
  }
  const archive = `https://registry.npmjs.org/${name}/-/${own}-${version}.tgz`
  component.externalReferences.add(
    new Models.ExternalReference(archive, Enums.ExternalReferenceType.Distribution),
  )
  return component
}

function licenceOf(expression: string): Models.License {
  return expression.includes(' ')
    ? new Models.LicenseExpression(expression)
    : new Models.SpdxLicense(expression)
}

if (import.meta.main) process.stdout.write(billOfMaterials())
