import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import ts from 'typescript'
import { projectFolder } from './folder.ts'

/** A parsed file of the project, with its path. */
export type SourceFile = { name: string; text: string; tree: ts.SourceFile }

const bannedNames = /(^|[-./])(utils?|helpers?|common|shared|managers?|services?|misc)([-./]|$)/
const kebabNames = /^([a-z0-9]+(-[a-z0-9]+)*\/)+[a-z0-9]+(-[a-z0-9]+)*(\.spec)?\.[a-z]+$/

/** Files that match a pattern, relative to the project's folder. */
export function readSource(pattern: string): SourceFile[] {
  return globSync(pattern, { cwd: projectFolder }).map((name) => {
    const text = readFileSync(join(projectFolder, name), 'utf8')
    return { name, text, tree: ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true) }
  })
}

/** Imports of a file as written, including type imports and dynamic imports. */
export function importsOf({ tree }: SourceFile): string[] {
  return nodesOf(tree).flatMap((node) => {
    const { moduleSpecifier } = node as ts.ImportDeclaration | ts.ExportDeclaration
    const isStatement = ts.isImportDeclaration(node) || ts.isExportDeclaration(node)
    if (isStatement && moduleSpecifier) return (moduleSpecifier as ts.StringLiteral).text
    if (ts.isImportTypeNode(node)) return node.argument.getText().slice(1, -1)
    const isCall = ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword
    return isCall && ts.isStringLiteral(node.arguments[0]!) ? node.arguments[0].text : []
  })
}

/** Project files that a file imports. */
export function filesImportedBy(file: SourceFile): string[] {
  return importsOf(file)
    .filter((target) => target.startsWith('.'))
    .map((target) => join(dirname(file.name), target))
}

/** Import cycles. */
export function circlesOf(files: readonly SourceFile[]): string[] {
  const imports = new Map(files.map((file) => [file.name, filesImportedBy(file)]))
  const circles: string[] = []
  const done = new Set<string>()
  const visit = (name: string, way: readonly string[]): void => {
    const start = way.indexOf(name)
    if (start >= 0) circles.push([...way.slice(start), name].join(' -> '))
    if (start >= 0 || done.has(name)) return
    for (const target of imports.get(name) ?? []) visit(target, [...way, name])
    done.add(name)
  }
  for (const name of imports.keys()) visit(name, [])
  return circles
}

/** Default exports and uses of `any`. */
export function looseExportsOf({ name, tree }: SourceFile): string[] {
  return nodesOf(tree).flatMap((node) => {
    if (node.kind === ts.SyntaxKind.AnyKeyword) return `${name}: any`
    const isDefault =
      (ts.isExportAssignment(node) && !node.isExportEquals) ||
      node.kind === ts.SyntaxKind.DefaultKeyword
    return isDefault && !ts.isDefaultClause(node.parent) ? `${name}: export default` : []
  })
}

/** Whether a file has more than 300 lines. */
export function isLong({ text }: Pick<SourceFile, 'text'>): boolean {
  return text.trimEnd().split('\n').length > 300
}

/** Locations of functions with more than 70 lines. */
export function longFunctionsOf({ name, tree }: SourceFile): string[] {
  return nodesOf(tree)
    .filter((node) => ts.isFunctionLike(node) && linesOf(tree, node) > 70)
    .map((node) => `${name}:${tree.getLineAndCharacterOfPosition(node.getStart()).line + 1}`)
}

/** File names without a meaning, or not in kebab-case. */
export function poorNamesOf(names: readonly string[]): string[] {
  return names.filter((name) => bannedNames.test(name) || !kebabNames.test(name))
}

/** A node and all of its descendants. */
export function nodesOf(tree: ts.Node): ts.Node[] {
  const found: ts.Node[] = []
  const visit = (node: ts.Node): void => {
    found.push(node)
    ts.forEachChild(node, visit)
  }
  visit(tree)
  return found
}

function linesOf(tree: ts.SourceFile, node: ts.Node): number {
  const line = (at: number) => tree.getLineAndCharacterOfPosition(at).line
  return line(node.getEnd()) - line(node.getStart()) + 1
}
