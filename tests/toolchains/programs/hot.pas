{ SPDX-License-Identifier: GPL-2.0-or-later }
program hot;
{$mode objfpc}
uses SysUtils;
type
  TSquare = class
    Side: Double;
    function Area(Scale: Double): Double; virtual;
  end;
function TSquare.Area(Scale: Double): Double;
var I: Integer;
begin
  Result := 0;
  for I := 1 to 1000 do
    Result := Result + Side * Scale * I;
end;
function Every(S: TSquare): Double;
var I: Integer;
begin
  Result := 0;
  for I := 1 to 10 do
    Result := Result + S.Area(3);
end;
var
  S: TSquare;
  Total: Double;
  Ends: QWord;
begin
  S := TSquare.Create;
  S.Side := 1.5;
  Total := 0;
  Ends := GetTickCount64 + 1000 * QWord(StrToIntDef(ParamStr(1), 1));
  while GetTickCount64 < Ends do
    Total := Total + Every(S);
  writeln(Total);
end.
